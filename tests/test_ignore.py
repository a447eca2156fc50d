"""Noise that is ignored: which words it is, what it does to a model, and where it is kept."""

import json

import numpy as np
import pytest

from difa import DiFA
from difa.config import NOISE_KINDS, IgnoreConfig
from difa.corpus.ignore import KINDS, noise_of
from difa.errors import ConfigError
from difa.words import from_text, from_tokens
from tests.commands import here

ADDRESS = "https://intern.example.org/zqx/8f2?k=1"


def ignored(text, **settings):
    document = from_text(text)
    kept = noise_of(IgnoreConfig(**settings)).kept(document)
    return " ".join(word.text for at, word in enumerate(document.words) if at not in kept)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("url", "See https://a.b/c?d=1, (www.x.org) or example.com/docs.", "https://a.b/c?d=1 www.x.org example . com / docs"),
        ("url", "The end. Well, i.e. nothing", ""),
        ("email", "Write to jörg.m@example.co.uk, or a@b", "jörg.m@example.co.uk"),
        ("number", "3,141.59 for $5 or -7% on 2026-11-18 at 10:34 (16GB)", "3,141.59 $ 5 - 7 % 2026-11-18 10:34 16GB"),
        ("number", "h4ck3d 4ever LK-48213", ""),
        ("path", "in /usr/bin, ~/x, C:\\Win\\x and src/a/cli.py", "/ usr / bin ~ / x C : \\ Win \\ x src / a / cli . py"),
        ("path", "and/or he/she/it", ""),
        ("hash", "70325a5 550e8400-e29b-41d4-a716-446655440000 defaced 1234567", "70325a5 550e8400-e29b-41d4-a716-446655440000"),
        ("handle", "@müller: #tag a@b.de (@you)", "@ müller # tag @ you"),
        ("code", "call foo() in `x`, a.b_c, someName --out $HOME", "foo ( ) ` x ` a . b_c someName -- out $ HOME"),
        ("code", "don't re-use McDonald's file(s)", ""),
    ],
)
def test_what_each_kind_takes_for_noise(kind, text, expected):
    assert ignored(text, kinds=[kind]) == expected


def test_every_kind_has_a_pattern():
    assert tuple(KINDS) == NOISE_KINDS


def test_a_pattern_covers_whole_words_between_blanks():
    assert ignored("LK-48213 and XLK-48213, LK 48213", patterns=[r"\bLK-\d+"]) == "LK-48213"
    assert ignored("a b", patterns=[r".*", "x"], kinds=["url"]) == "a b"
    assert ignored("a b", patterns=[r"a b"]) == ""
    assert not noise_of(IgnoreConfig())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kinds": ["urls"]}, "some of url, email"),
        ({"kinds": "url"}, "a list of strings"),
        ({"patterns": ["(a"]}, "expected a regular expression of RE2, got '\\(a' \\(missing \\)"),
        ({"patterns": [r"(a)\1"]}, "expected a regular expression of RE2"),
        ({"patterns": ["a" * 1001]}, "at most 1,000 characters"),
        ({"patterns": ["((a{99}){99}){99}"]}, "expected a regular expression of RE2"),
    ],
)
def test_impossible_settings_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        IgnoreConfig(**settings)


def test_a_pattern_that_would_backtrack_for_ever_ends():
    text = "a" * 1900 + "! " + "b" * 100_000
    assert ignored(text, patterns=["(a*)*c", "(.*b.*)*c", ".*x|b"]) == ""


@pytest.fixture(scope="module")
def model(corpus):
    noisy = [f"{text} {ADDRESS}{at} 4{at}" for at, text in enumerate(corpus[:100])]
    return DiFA("fast", stages={"ignore": {"kinds": ["url", "number"], "patterns": ["LK|-\\d+"]}}).fit(noisy)


def test_a_model_is_that_of_the_text_without_noise(model, corpus):
    plain = DiFA("fast").fit(
        [" ".join(word.text for word in model.detector_.noise._strip(from_text(text)).words) for text in corpus[:100]]
    )
    assert np.array_equal(model.decision_scores_, plain.decision_scores_)
    text = "Is the wpdlkrt garden bench in stock?"
    noisy, alone = model.score([f"{ADDRESS} {text} 17"])[0], plain.score([text])[0]
    assert noisy.score == alone.score
    assert [word.score for word in noisy.words] == [0.0, *(word.score for word in alone.words), 0.0]
    assert [word.allowed for word in noisy.words] == [True, *[False] * len(alone.words), True]
    reasons = model.explain(f"{ADDRESS} {text} 17").reasons
    assert reasons[1:-1] == plain.explain(text).reasons
    assert not any(reasons[0].values())
    assert model.score([ADDRESS, ""])[0].score == model.score([""])[0].score


def test_words_around_noise_are_no_doubled_word(corpus):
    model = DiFA("fast", fpr=0.05, stages={"ignore": {"kinds": ["code"]}}).fit(corpus[:150])
    apart, doubled = model.score(["The price of `total_sum` of my order is wrong.", "The price of of my order is wrong."])
    assert [word.fault for word in doubled.words if word.fault] == ["doubled word"] * 2
    assert not [word for word in apart.words if word.fault]
    critic = [max(word.evidence["critic"] for word in result.words if word.text == "of") for result in (apart, doubled)]
    assert critic[0] < critic[1]


def test_noise_is_kept_in_the_folder_and_its_card(model, tmp_path):
    model.save(tmp_path / "model")
    assert "| ignored | url, number, `LK\\|-\\d+` |" in (tmp_path / "model/README.md").read_text()
    text = [f"Is the wpdlkrt bench in stock? {ADDRESS}"]
    assert DiFA.load(tmp_path / "model").score(text)[0].words == model.score(text)[0].words


def test_words_that_come_as_a_list_are_ignored_too(model):
    assert [word.allowed for word in model.score([["see", ADDRESS, "New York"]])[0].words] == [False, True, False]


def test_updates_and_verdicts_are_read_without_noise(corpus):
    normal, verdict = corpus[:60], from_tokens(["buy", ADDRESS, "viagra"], labels=[0, 1, 1])
    settings = {"ignore": {"kinds": ["url"]}}
    given = DiFA("fast", fpr=0.05, stages=settings).fit(normal, verdicts=[verdict])
    other = DiFA("fast", fpr=0.05, stages=settings).fit(normal, verdicts=[from_tokens(["buy", "viagra"], labels=[0, 1])])
    assert given.score(corpus[60:70]) == other.score(corpus[60:70])
    assert given.update([f"{text} {ADDRESS}" for text in corpus[60:70]]).decision_scores_.tolist()
    assert given.score(corpus[70:80]) == other.update(corpus[60:70]).score(corpus[70:80])


def test_fit_and_find_take_what_to_ignore(few_normal, tmp_path):
    new = tmp_path / "new.txt"
    new.write_text(f"Where is my order?\nMy order is late, see {ADDRESS} please\n")
    folder = tmp_path / "model"
    run = here("fit", few_normal, "--out", folder, "--preset", "fast", "--ignore", "url, number", "--ignore-pattern", "LK-.*")
    assert run.returncode == 0, run.stderr
    assert json.loads((folder / "config.json").read_text())["stages"]["ignore"] == {
        "kinds": ["url", "number"],
        "patterns": ["LK-.*"],
    }
    run = here("find", few_normal, new, "--preset", "fast", "--ignore", "url", "--out", tmp_path / "all.jsonl")
    words = json.loads((tmp_path / "all.jsonl").read_text().splitlines()[1])["words"]
    assert [word["text"] for word in words if word.get("allowed")] == [ADDRESS]
    assert here("fit", few_normal, "--out", tmp_path / "no", "--ignore", "urls").returncode == 2
