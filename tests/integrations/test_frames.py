"""Frames in, the same kind of frame out."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from difa.errors import ConfigError, InputError

TEXTS = ["Where is my parcle?", "Is the wpdlkrt zxqvvb bench in stock?", ""]
ADDED = ["score", "p_value", "is_anomaly", "flagged_words", "suggestions", "summary"]


@pytest.fixture(scope="module")
def expected(fast_model):
    results = fast_model.score(TEXTS, fpr=0.3)
    flagged = [[word.text for word in result.words if word.is_anomaly] for result in results]
    meant = [[f"{w.text} → {w.suggestion}" for w in result.words if w.is_anomaly and w.suggestion] for result in results]
    assert meant[0] == ["parcle → parcel"]
    columns = zip(results, flagged, meant, strict=True)
    return [[r.score, r.p_value, r.is_anomaly, words, suggested, r.summary] for r, words, suggested in columns]


def dataset(rows):
    from datasets import Dataset  # which loads torch

    return Dataset.from_list(rows)


def rows_of(frame):
    """Rows of any kind of frame, as dictionaries."""
    if isinstance(frame, pd.DataFrame):
        return frame.to_dict("records")
    return (
        frame.to_dicts() if isinstance(frame, pl.DataFrame) else frame.to_pylist() if isinstance(frame, pa.Table) else list(frame)
    )


RECORDS = [{"n": number, "body": text} for number, text in enumerate(TEXTS)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: pd.DataFrame(RECORDS, index=[7, 7, 9]),
        lambda: pl.DataFrame(RECORDS),
        lambda: pa.Table.from_pylist(RECORDS),
        lambda: dataset(RECORDS),
        lambda: list(RECORDS),
    ],
    ids=["pandas", "polars", "pyarrow", "datasets", "rows"],
)
def test_every_kind_comes_back_with_more_columns(fast_model, expected, make):
    frame = make()
    scored = fast_model.score_frame(frame, text="body", fpr=0.3)
    assert type(scored) is type(frame)
    rows = rows_of(scored)
    assert list(rows[0]) == ["n", "body", *ADDED]
    assert [[row[name] for name in ADDED] for row in rows] == expected
    assert [row["body"] for row in rows] == TEXTS
    assert "score" not in rows_of(frame)[0]
    assert rows_of(fast_model.score_frame(make(), fpr=0.3)) == rows, "the text column is obvious"


def test_a_pandas_frame_keeps_its_index_and_gets_useful_types(fast_model):
    frame = pd.DataFrame({"text": TEXTS}, index=["a", "a", "b"])
    scored = fast_model.score_frame(frame)
    assert list(scored.index) == ["a", "a", "b"]
    assert str(scored["score"].dtype) == "float64"
    assert str(scored["is_anomaly"].dtype) == "bool"
    assert list(frame.columns) == ["text"]
    assert list(fast_model.score_frame(frame.iloc[:0]).columns) == ["text", *ADDED]


def test_names_that_are_taken(fast_model):
    assert list(fast_model.score_frame([{"text": "a b", "score": 5}])[0]) == ["text", "score", "difa_score", *ADDED[1:]]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_missing_values_are_no_text_and_reported(fast_model, missing):
    rows = [{"text": "Where is it?"}, {"text": missing}]
    with pytest.warns(UserWarning, match="1 of 2 rows have no text in 'text'"):
        scored = fast_model.score_frame(rows, text="text")
    assert (scored[1]["score"], scored[1]["p_value"], scored[1]["is_anomaly"]) == (0.0, 1.0, False)
    with pytest.raises(InputError, match="row 1 of 'text', got a missing value"):
        fast_model.score_frame(rows, text="text", missing="error")


def test_a_false_discovery_rate_looks_at_all_rows(fast_model, corpus):
    texts = [f"{text} {number}" for number, text in enumerate(corpus[80:130])] + ["wq zzxv kkkj"] * 3
    scored = fast_model.score_frame([{"text": text} for text in texts], fdr=0.5)
    assert [row["is_anomaly"] for row in scored] == [result.is_anomaly for result in fast_model.score(texts, fdr=0.5)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.score(pd.DataFrame({"text": TEXTS})), r"got a DataFrame: .* score_frame\(frame, text="),
        (lambda m: m.score(pl.DataFrame({"text": TEXTS})), "got a DataFrame"),
        (lambda m: m.score(pa.table({"text": TEXTS})), "got a Table"),
        (lambda m: m.score(dataset([{"text": text} for text in TEXTS])), "got a Dataset"),
        (lambda m: m.score({"text": "a"}), "got a dict: .*score_frame"),
        (lambda m: m.score([{"text": "a"}]), "as document 0, got dict: score rows by score_frame"),
        (lambda m: m.fit(pd.DataFrame({"text": TEXTS})), "score_frame"),
        (lambda m: m.score_frame({"text": "a"}), "expected a data frame or rows"),
        (lambda m: m.score_frame(["a"]), "got str in row 0"),
        (lambda m: m.score_frame(pl.LazyFrame({"text": TEXTS})), "collect"),
        (lambda m: m.score_frame([{"text": 5}], text="text"), "in row 0 of 'text', got int"),
        (lambda m: m.score_frame([{"a": "x", "b": "y"}]), "expected one obvious text column"),
        (lambda m: m.score_frame([{"a": "x"}], text="b"), "expected one of the columns 'a', got 'b'"),
    ],
)
def test_what_is_no_frame_is_refused_in_one_line(quick, fast_model, call, message):
    with pytest.raises(InputError, match=message) as error:
        call(quick() if "fit" in call.__code__.co_names else fast_model)
    assert "\n" not in str(error.value)


def test_an_unknown_policy(fast_model):
    with pytest.raises(ConfigError, match="missing: expected one of empty, error"):
        fast_model.score_frame([], missing="drop")


def test_columns_of_one_name_are_no_hindrance_unless_they_are_the_text(fast_model):
    frame = pd.DataFrame([[TEXTS[0], "a", 1], [TEXTS[1], "b", 2]], columns=["text", "x", "x"])
    scored = fast_model.score_frame(frame)
    assert list(scored.columns[:3]) == ["text", "x", "x"]
    assert len(scored) == 2
    frame.columns = ["text", "text", "x"]
    with pytest.raises(InputError, match="expected one column 'text', got several of that name: rename one"):
        fast_model.score_frame(frame)


def test_words_are_scored_if_no_column_is_called_text(fast_model):
    rows = [{"tokens": ["where", "is", "it"], "body": "another text"}, {"tokens": ["my order"], "body": "more of it"}]
    scores = [result.score for result in fast_model.score([row["tokens"] for row in rows])]
    table = pa.Table.from_pylist(rows)
    for frame in (rows, table, table.to_pandas(), pd.DataFrame(rows), pl.DataFrame(rows), dataset(rows)):
        assert [row["score"] for row in rows_of(fast_model.score_frame(frame))] == scores
