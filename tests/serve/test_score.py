"""POST /v1/score as a program uses it."""

import json
import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from difa.corpus.allow import AllowList
from difa.serve.models import Queued, ServedModel
from difa.serve.settings import Settings
from difa.words import from_text
from tests.lines import to_json_line


def said_of(result):
    """What the service says of a document: the fields of the command line, but for the rate, which it gives once."""
    return {key: value for key, value in json.loads(to_json_line(result)).items() if key not in ("rule", "rate")}


TEXTS = ["Where is my xkcdqwrtplk order?", "Thank you 👍 for the 𝒻ast reply!", "", "The lid was broken."]


def test_answers_are_the_command_line_s_json(client, model):
    status, answer = client.score(texts=TEXTS, fpr=0.05)
    assert status == 200
    assert (answer["model"], answer["rule"], answer["rate"]) == ("support", "fpr", 0.05)
    assert answer["results"] == [said_of(result) for result in model.score(TEXTS, fpr=0.05)]
    for result in answer["results"]:
        for word in result["words"]:
            assert result["text"][word["start"] : word["end"]] == word["text"]


def test_one_text_one_word_list_and_the_model_s_own_rate(client, model):
    status, answer = client.score(text=TEXTS[0])
    assert (status, answer["rate"]) == (200, model.fpr)
    assert answer["results"] == [said_of(model.score(TEXTS[:1])[0])]
    tokens = ["Where", "is my", "order"]
    assert client.score(tokens=tokens)[1]["results"] == [said_of(model.score([tokens])[0])]


def test_a_false_discovery_rate_looks_at_all_documents_of_the_request(client, model):
    texts = [*TEXTS, "kjhgf wpdlkrt zzzz", "qwrtp xkcd!!!!"]
    answer = client.score(texts=texts, fdr=0.2)[1]
    assert answer["rule"] == "fdr"
    expected = model.score(texts, fdr=0.2)
    assert answer["results"] == [said_of(result) for result in expected]
    assert any(result.is_anomaly for result in expected)


def test_less_on_request(client):
    result = client.score(text=TEXTS[0], return_words=False)[1]["results"][0]
    assert list(result) == ["id", "text", "score", "p_value", "is_anomaly", "summary", "evidence"]
    bare = client.score(text=TEXTS[0], return_evidence=False)[1]["results"][0]
    assert list(bare) == ["id", "text", "score", "p_value", "is_anomaly", "summary", "words"]
    word = bare["words"][0]
    assert list(word) == ["text", "start", "end", "score", "p_value", "is_anomaly", "suggestion"]


def test_reasons_for_unusual_words_only(client, model):
    result = client.score(text=TEXTS[0], return_reasons=True, fpr=0.05)[1]["results"][0]
    assert result["sentence"].startswith("'xkcdqwrtplk' never occurs in your normal text")
    assert sum("sentence" in word for word in result["words"]) == sum(word["p_value"] <= 0.05 for word in result["words"])
    added = ("reasons", "sentence")
    words = [{key: value for key, value in word.items() if key not in added} for word in result["words"]]
    bare = {key: value for key, value in result.items() if key != "sentence"} | {"words": words}
    assert bare == said_of(model.score(TEXTS[:1], fpr=0.05)[0])
    strange = next(word for word in result["words"] if word["text"] == "xkcdqwrtplk")
    assert set(strange["reasons"]) == set(strange["evidence"])
    assert any("consonants" in reason["text"] for reasons in strange["reasons"].values() for reason in reasons)
    pairs = [(word["evidence"][view], word["reasons"][view]) for word in result["words"] for view in word["evidence"]]
    assert not any(reasons for evidence, reasons in pairs if evidence < -math.log(0.2))
    assert any(evidence < -math.log(0.2) for evidence, _ in pairs)


def test_allowed_words_play_no_part_in_capitals_or_not(client, model):
    def flagged(result):
        return [word["text"] for word in result["words"] if word["is_anomaly"]]

    plain = client.score(text=TEXTS[0], fpr=0.05)[1]["results"][0]
    assert "xkcdqwrtplk" in flagged(plain)
    allowed = client.score(text=TEXTS[0], fpr=0.05, allow=["XKCDqwrtplk"])[1]["results"][0]
    assert allowed == said_of(model.score(TEXTS[:1], fpr=0.05, allow=["xkcdqwrtplk"])[0])
    assert "xkcdqwrtplk" not in flagged(allowed)
    assert allowed["p_value"] > plain["p_value"]
    assert [word["text"] for word in allowed["words"] if word.get("allowed")] == ["xkcdqwrtplk"]
    reasons = client.score(text=TEXTS[0], allow=["xkcdqwrtplk"], return_reasons=True)[1]["results"][0]
    assert reasons["score"] == allowed["score"]


def test_a_batch_of_requests_with_different_words_allowed(model):
    served = ServedModel("m", model, Settings())
    document = from_text(TEXTS[0])
    queries = [
        Queued(document, 9),
        Queued(document, 9, allow=AllowList.of(["xkcdqwrtplk"])),
        Queued(document, 9),
    ]
    plain, allowed, again = (outcome.result for outcome in served._work(queries))
    assert plain == again == model.score_unflagged([document])[0]
    assert allowed == model.score_unflagged([document], allow=["xkcdqwrtplk"])[0]


def test_a_broken_document_costs_only_itself(client):
    broken = [None, 7, ["a", 1], {"txt": "a"}, {"text": 5}, "half \ud800 pair", "x" * 200_001, {"id": 4, "tokens": "no"}]
    status, answer = client.score(texts=["Good.", *broken, {"id": "m-1", "text": "Good too."}])
    assert status == 200
    results = answer["results"]
    assert [list(result) for result in results[1:-1]] == [["id", "error"]] * len(broken)
    assert all("expected" in result["error"] and "\n" not in result["error"] for result in results[1:-1])
    assert results[-2]["id"] == "4"
    assert (results[0]["text"], results[-1]["id"]) == ("Good.", "m-1")
    assert "score" in results[0]


def test_a_single_broken_document_is_an_error(client):
    assert client.score(text="half \ud800 pair")[0] == 422
    status, answer = client.score(text="x" * 200_001)
    assert status == 413
    assert "at most 200000 characters" in answer["error"]


def test_another_model_by_name(client, quick_model):
    answer = client.score(text=TEXTS[0], model="tiny")[1]
    assert answer["results"] == [said_of(quick_model.score(TEXTS[:1])[0])]
    status, answer = client.score(text=TEXTS[0], model="../support")
    assert (status, answer["error"]) == (404, "model: expected one of support, tiny, got another name")


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "expected exactly one of text, tokens and texts, got none"),
        ({"text": "a", "texts": ["a"]}, "expected exactly one of text, tokens and texts, got text and texts"),
        ({"text": "a", "fpr": 0.1, "fdr": 0.1}, "expected one of fpr and fdr, got both"),
        ({"text": "a", "fpr": 1}, "fpr: expected less than 1, got a number"),
        ({"text": "a", "fdr": "0.1"}, "fdr: expected number, got a string"),
        ({"text": "a", "return_words": 1}, "return_words: expected boolean, got a number"),
        ({"text": ["a"]}, "text: expected string, got a list"),
        ({"texts": "a"}, "texts: expected list, got a string"),
        ({"text": "a", "allow": ["b", " "]}, "allow: expected words as strings, got an empty one"),
        ({"text": "a", "allow": [1]}, "allow.0: expected string, got a number"),
        ({"text": "a", "allow": ["b"] * 10_001}, "allow: expected at most 10000 items, got 10001"),
        ({"text": "a", "secret": 1}, "got another one: remove it"),
    ],
)
def test_a_wrong_request_gets_one_line(client, request_, message):
    status, answer = client.score(**request_)
    assert status == 422
    assert list(answer) == ["error"]
    assert message in answer["error"]
    assert "\n" not in answer["error"]


def test_lists_are_bounded(client):
    status, answer = client.score(texts=["a"] * 1001)
    assert status == 413
    assert "at most 1000 documents, got 1001" in answer["error"]
    assert client.score(texts=[])[1]["results"] == []


def test_many_at_once_get_the_same_as_alone_and_share_batches(client, model, corpus):
    texts = corpus[:60]
    before = client.metric('difa_batch_documents_count{lane="short",model="support"}')
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda text: client.score(text=text), texts))
    assert [status for status, _ in answers] == [200] * len(texts)
    for (_, answer), expected in zip(answers, model.score(texts), strict=True):
        got = answer["results"][0]
        assert (got["text"], len(got["words"])) == (expected.text, len(expected.words))
        assert [word["score"] for word in got["words"]] == pytest.approx([word.score for word in expected.words])
        assert (got["score"], got["p_value"]) == pytest.approx((expected.score, expected.p_value))
    batches = client.metric('difa_batch_documents_count{lane="short",model="support"}') - before
    assert 1 <= batches < len(texts)


def test_a_document_of_a_hundred_thousand_characters(client):
    line = ("Where is my order? " * 6000)[:100_000]
    status, answer = client.score(text=line, model="tiny", return_evidence=False)
    assert status == 200
    assert answer["results"][0]["words"][-1]["end"] == len(line.rstrip())
