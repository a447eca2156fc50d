"""Words that are allowed: which they are, what they do to scores, and where they are kept."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from difa import DiFA
from difa.cli.options import allowed_words
from difa.corpus.allow import AllowList
from difa.document import columns_of
from difa.engines.cascade import Cascade
from difa.errors import InputError, ModelError
from difa.formats.write import from_json_line, json_lines
from difa.storage.model_folder import read_config, write_config
from difa.storage.persist import set_allowed
from difa.words import from_tokens
from tests.lines import to_json_line

ODD = "Is the wpdlkrt garden bench in stock?"


@pytest.mark.parametrize(
    ("entries", "words", "expected"),
    [
        (["Louise"], ["LOUISE", "louise", "Louise's", "Louis"], [1, 1, 0, 0]),
        (["straße"], ["STRASSE", "Strasse"], [1, 1]),
        (["caf\u00e9"], ["Cafe\u0301"], [1]),
        (["New  York"], ["new", "York", "new", "york", "times", "New"], [1, 1, 1, 1, 0, 0]),
        (["New York"], ["in", "New York"], [0, 1]),
        (["C++"], ["C", "++", "is", "C"], [1, 1, 0, 0]),
        (["a b", "b c"], ["a", "b", "c", "d"], [1, 1, 1, 0]),
        (["w*"], ["word", "w", "*"], [0, 1, 1]),
        ([], ["word"], [0]),
    ],
)
def test_which_words_are_allowed(entries, words, expected):
    assert AllowList.of(entries).marks(words).tolist() == [bool(mark) for mark in expected]


def test_a_list_has_each_word_once_in_order():
    allow = AllowList.of(["b", "a", "B", " New \t York "])
    assert allow.entries == ("a", "b", "New York")
    assert allow.plus(["c", "A"]).entries == ("a", "b", "c", "New York")
    assert allow.minus(["NEW york"]).entries == ("a", "b")
    with pytest.raises(InputError, match="got 'x', which is not"):
        allow.minus(["a", "x"])


@pytest.mark.parametrize(
    ("words", "got"), [("word", "a single string"), ([""], "an empty one"), ([7], "int"), (["a\ud800"], "surrogate")]
)
def test_what_is_no_list_of_words_is_refused(words, got):
    with pytest.raises(InputError, match=got):
        AllowList.of(words)


def test_an_allowed_word_is_never_flagged_and_counts_for_nothing(fast_large):
    plain, allowed = fast_large.score([ODD], fpr=0.05)[0], fast_large.score([ODD], fpr=0.05, allow=["WPDLKRT"])[0]
    assert plain.is_anomaly
    assert not allowed.is_anomaly
    assert allowed.score < plain.score
    assert allowed.p_value > plain.p_value
    for before, after in zip(plain.words, allowed.words, strict=True):
        assert after.evidence == before.evidence
        if after.text == "wpdlkrt":
            assert before.is_anomaly
            assert (after.score, after.p_value, after.is_anomaly, after.suggestion, after.allowed) == (0, 1, False, None, True)
        else:
            assert after == before
    assert fast_large.score([ODD], fpr=0.05)[0] == plain, "for one call alone"


def test_a_document_is_scored_by_the_other_words_as_if_they_were_all(fast_large):
    detector = fast_large.detector_
    document = from_tokens(ODD.split())
    (encoded,) = detector.encoder.encode([document])
    plain = detector.score_chunk([document], [encoded])
    allowed = fast_large._fitted(["wpdlkrt", "stock?"]).score_chunk([document], [encoded])
    kept = ~np.isin(encoded.words, ["wpdlkrt", "stock?"])
    of_kept = plain.word_scores[kept], plain.evidence[kept], [int(kept.sum())]
    score, traits = detector._score_documents(*of_kept, np.zeros(1, dtype=int))
    assert allowed.document_scores == score
    np.testing.assert_array_equal(allowed.document_evidence, traits)
    np.testing.assert_array_equal(allowed.word_scores, np.where(kept, plain.word_scores, 0))


@pytest.mark.parametrize("name", ["fast_large", pytest.param("quick_model", marks=pytest.mark.slow)])
def test_a_document_of_allowed_words_alone_is_as_one_without_words(request, name):
    model = request.getfixturevalue(name)
    empty, allowed = model.score(["", "wpdlkrt zxqvvb"], allow=["wpdlkrt", "zxqvvb"])
    assert (allowed.score, allowed.p_value, allowed.evidence) == (empty.score, empty.p_value, empty.evidence)
    assert model.score(["wpdlkrt zxqvvb"])[0].score > 0


def test_words_allowed_for_good_are_kept_in_the_folder(fast_large, tmp_path):
    model = fast_large.allowing(["Wpdlkrt"])
    assert fast_large.allowed_ == ()
    assert model.allow(["garden bench"]).allowed_ == ("garden bench", "Wpdlkrt")
    model.save(tmp_path / "m")
    loaded = DiFA.load(tmp_path / "m")
    assert loaded.allowed_ == model.allowed_
    assert loaded.score([ODD]) == model.score([ODD]) == fast_large.score([ODD], allow=["wpdlkrt", "garden bench"])
    assert loaded.disallow(["garden bench", "wpdlkrt"]).score([ODD]) == fast_large.score([ODD])


def test_lists_that_are_changed_at_once_lose_nothing(fast_large, tmp_path):
    fast_large.save(tmp_path / "m")
    with ThreadPoolExecutor(4) as pool:
        changes = [lambda stored, word=f"word{number}": stored.plus([word]) for number in range(12)]
        list(pool.map(lambda change: set_allowed(tmp_path / "m", change), changes))
    assert len(DiFA.load(tmp_path / "m").allowed_) == 12
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize(("entry", "reason"), [(7, "got int"), ("a\ud800", "half a surrogate pair")])
def test_a_damaged_list_is_named(fast_large, tmp_path, entry, reason):
    fast_large.save(tmp_path / "m")
    write_config(tmp_path / "m", read_config(tmp_path / "m") | {"allowed": [entry]})
    with pytest.raises(ModelError, match=reason):
        DiFA.load(tmp_path / "m")


def test_lines_and_their_results_say_which_words_are_allowed(fast_large):
    model = fast_large.allowing(["wpdlkrt"])
    documents = [from_tokens(ODD.split()), from_tokens(["Where", "is", "it", "?"])]
    for fpr in (0.01, 0.9):
        results = model.score(documents, fpr=fpr)
        lines = b"".join(json_lines(part) for part in columns_of(results))
        assert lines.decode() == "".join(map(to_json_line, results))
        assert [from_json_line(line) for line in lines.splitlines()] == results
        assert [json.loads(line) for line in lines.splitlines()] == [result.to_dict() for result in results]


def test_a_screen_allows_what_the_model_allows(fast_large):
    results = Cascade(fast_large.allowing(["wpdlkrt"]), fast_large, 0.1).score([ODD], fpr=0.05)
    assert results[0].judged_by == "screen"
    assert not any(word.is_anomaly for word in results[0].words if word.text == "wpdlkrt")


def test_frames_and_explanations_take_the_words_too(fast_large):
    (row,) = fast_large.score_frame([{"text": ODD}], fpr=0.05, allow=["wpdlkrt"])
    assert row["p_value"] == fast_large.explain(ODD, fpr=0.05, allow=["wpdlkrt"]).result.p_value
    assert "wpdlkrt" not in row["flagged_words"]


class TestCommand:
    """`difa allow`, and `--allow`."""

    @pytest.fixture
    def stored(self, fast_large, tmp_path):
        fast_large.save(tmp_path / "m")
        return tmp_path / "m"

    def test_words_and_files_are_added_listed_and_removed(self, stored, difa, tmp_path):
        (tmp_path / "words.txt").write_text("\ufeffWpdlkrt\n\nNew York\n", encoding="utf-8")
        assert difa("allow", stored, tmp_path / "words.txt", "Gigaset").stderr.endswith("3 added, 3 words and phrases allowed\n")
        assert difa("allow", stored, "gigaset", "--remove").exit_code == 0
        assert difa("allow", stored, "--list").stdout == "New York\nWpdlkrt\n"
        assert DiFA.load(stored).allowed_ == ("New York", "Wpdlkrt")
        assert not [path for path in stored.iterdir() if path.name.startswith(".")]

    def test_a_list_does_not_steer_the_terminal(self, stored, difa, monkeypatch):
        set_allowed(stored, lambda before: before.plus(["a\x1b]0;title\x07", "b\x9bm", "n\u200cm"]))
        assert difa("allow", stored, "--list").stdout == "a\\x1b]0;title\\x07\nb\\x9bm\nn\u200cm\n"
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        assert difa("allow", stored, "--list").stdout == "a\\x1b]0;title\\x07\nb\\x9bm\nn\\u200cm\n"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((), "expected words or a file of words, got none"),
            (("--remove",), "expected words or a file of words, got none"),
            (("missing.txt",), "missing.txt: expected a word, or a file of words"),
            (("x", "--remove"), "'x', which is not"),
        ],
    )
    def test_mistakes_get_one_line_and_change_nothing(self, stored, difa, arguments, message):
        before = (stored / "config.json").read_bytes()
        run = difa("allow", stored, *arguments)
        assert run.exit_code == 2
        assert message in run.stderr
        assert (stored / "config.json").read_bytes() == before

    def test_scoring_explaining_and_evaluating(self, stored, difa, tmp_path, fast_large):
        tokens = ODD.split()
        lines = [
            {"tokens": tokens, "labels": [int(token == "wpdlkrt") for token in tokens]},
            {"tokens": ["My", "order"], "labels": [0, 0]},
        ]
        source = tmp_path / "in.jsonl"
        source.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        expected = fast_large.score([from_tokens(tokens)], fpr=0.05, allow=["wpdlkrt"])[0]
        assert difa("score", stored, source, "--fpr", 0.05, "--allow", "WPDLKRT", "--out", tmp_path / "out.jsonl").exit_code == 0
        written = from_json_line((tmp_path / "out.jsonl").read_bytes().splitlines()[0])
        assert (written.score, written.words) == (expected.score, expected.words)
        explained = json.loads(difa("explain", stored, ODD, "--allow", "wpdlkrt", "--json").stdout)
        assert [word["text"] for word in explained["words"] if word.get("allowed")] == ["wpdlkrt"]
        figures = json.loads(difa("evaluate", stored, source, "--json", "--allow", "wpdlkrt", "--quiet").stdout)
        assert figures["word"]["auroc"] == 0

    def test_a_run_with_other_words_is_not_gone_on_with(self, stored, difa, tmp_path, corpus):
        source = tmp_path / "in.txt"
        source.write_text("\n".join(corpus[:30]), encoding="utf-8")
        run = ("score", stored, source, "--out", tmp_path / "out", "--shard-size", 10)
        assert difa(*run, "--allow", "order").exit_code == 0
        again = difa(*run, "--resume")
        assert again.exit_code == 2
        assert "allowed words" in again.stderr

    def test_a_folder_that_cannot_be_written_is_named(self, stored, difa, monkeypatch):
        def full(*arguments):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("difa.storage.atomic.os.fsync", full)
        run = difa("allow", stored, "x")
        assert run.exit_code == 2
        assert "No space left" in run.stderr
        monkeypatch.undo()
        assert DiFA.load(stored).allowed_ == ()


def test_a_parquet_table_keeps_what_is_allowed(fast_large, tmp_path, difa):
    from difa.formats.results import read_results

    fast_large.save(tmp_path / "m")
    (tmp_path / "in.txt").write_text(ODD + "\n", encoding="utf-8")
    difa("score", tmp_path / "m", tmp_path / "in.txt", "--allow", "wpdlkrt", "--out", tmp_path / "out.parquet")
    (result,) = read_results([tmp_path / "out.parquet"])
    assert [word.text for word in result.words if word.allowed] == ["wpdlkrt"]


def test_many_phrases_that_begin_alike_cost_no_more_than_one():
    words = ["a"] * 3_000
    allow = AllowList.of([f"{'a ' * 100}b{number}" for number in range(3_000)])
    assert not allow.marks(words).any()
    assert allow.marks([*words, "B7", "c"]).sum() == 101


def test_the_longest_of_phrases_that_overlap_is_allowed_as_a_whole():
    allow = AllowList.of(["New York", "New York Times Square", "Square dance"])
    assert allow.marks(["the", "new", "york", "times", "square", "dance", "new", "jersey"]).tolist() == [
        False,
        *[True] * 5,
        False,
        False,
    ]


def test_an_entry_without_end_is_refused():
    with pytest.raises(InputError, match="at most 1,000 characters, got 1,001"):
        AllowList.of(["x" * 1_001])


def test_a_phrase_too_long_for_a_file_name_is_a_phrase():
    phrase = "we hold these truths " * 20
    assert allowed_words([phrase]) == [phrase]


@pytest.mark.parametrize("entry", [r"LK-\d+", "LK-*", "[A-Z]+", "(?i)lk", ".*", "a{3}", "^LK"])
def test_what_looks_like_a_pattern_is_said_so(entry, fast_large, tmp_path, difa):
    fast_large.save(tmp_path / "model")
    said = difa("allow", tmp_path / "model", entry)
    assert "looks like a pattern" in said.stderr
    assert "like a pattern" not in difa("allow", tmp_path / "model", entry, "--remove").stderr


def test_plain_words_are_no_patterns(fast_large, tmp_path, difa):
    fast_large.save(tmp_path / "model")
    said = difa("allow", tmp_path / "model", "C++", "F***", "$5", "U.S.", "what?", "(sic)", "New York")
    assert "like a pattern" not in said.stderr
