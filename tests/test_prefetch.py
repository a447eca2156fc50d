"""Work on the next item while the one before is in use: order, errors, and no more than one ahead."""

import threading
from dataclasses import replace

import pytest

from difa.runtime.parallel import (
    MOST_DOCUMENTS,
    MOST_WORDS,
    Cancelled,
    cancellable,
    check_cancelled,
    chunk_documents,
    cut_chunks,
    prefetch,
)
from difa.words import from_text, from_tokens
from tests import HANG


def prefetched(work, items, side_by_side=True):
    items = iter(items)
    return prefetch(work, items, (lambda: next(items, None)) if side_by_side else None)


def test_chunks_are_bounded_and_in_order():
    documents = [from_tokens(["a"] * length) for length in [1] * 300 + [MOST_WORDS, 2 * MOST_WORDS, 1, 0]]
    chunks = [chunk.documents for chunk in chunk_documents(documents)]
    assert [len(chunk) for chunk in chunks] == [MOST_DOCUMENTS, 44, 1, 1, 2]
    assert [document for chunk in chunks for document in chunk] == documents
    assert list(chunk_documents([])) == []


def test_a_chunk_ends_where_it_is_told_to():
    assert list(cut_chunks(range(1, 8), lambda n: 1, lambda n: n % 3 == 0)) == [[1, 2, 3], [4, 5, 6], [7]]


@pytest.mark.parametrize("side_by_side", [False, True])
def test_the_same_in_order_either_way(side_by_side):
    assert list(prefetched(str, range(1, 6), side_by_side)) == [(n, str(n)) for n in range(1, 6)]
    assert list(prefetched(str, [], side_by_side)) == []


def test_the_next_is_made_while_the_caller_has_one_and_no_more():
    begun = [threading.Event() for _ in range(4)]
    pairs = prefetched(lambda n: begun[n - 1].set(), [1, 2, 3, 4])
    next(pairs)
    assert begun[1].wait(HANG)
    assert not begun[2].wait(0.2)
    next(pairs)
    assert begun[2].wait(HANG)
    assert not begun[3].wait(0.2)
    pairs.close()


@pytest.mark.parametrize("side_by_side", [False, True])
def test_an_error_comes_behind_what_was_before_it(side_by_side):
    pairs = prefetched(lambda n: 6 // (3 - n), [1, 2, 3, 4], side_by_side)
    assert [next(pairs), next(pairs)] == [(1, 3), (2, 6)]
    with pytest.raises(ZeroDivisionError):
        next(pairs)


def test_one_core_means_the_callers_thread():
    assert [where for _, where in prefetched(lambda n: threading.current_thread(), [1, 2], False)] == [
        threading.current_thread()
    ] * 2


def test_what_is_there_goes_out_before_more_is_waited_for():
    waited = []

    def items():
        yield 1
        waited.append("for 2")
        yield 2

    pairs = prefetch(str, items(), lambda: None)
    assert next(pairs) == (1, "1")
    assert waited == []
    assert next(pairs) == (2, "2")


@pytest.mark.parametrize("side_by_side", [False, True])
def test_who_gives_up_the_work_gives_up_what_is_done_ahead(side_by_side):
    with cancellable(lambda: False), pytest.raises(Cancelled):
        list(prefetched(lambda n: check_cancelled(), [1, 2], side_by_side))


@pytest.mark.parametrize("large", ["a" * (20 << 10), ["a" * (10 << 10), {"b": ["c" * (10 << 10)]}], [None] * (5 << 9)])
def test_large_columns_are_held_for_few_documents_at_a_time(monkeypatch, large):
    monkeypatch.setattr("difa.runtime.parallel._COLUMN_WORD", 16)
    documents = [replace(from_text("one word"), columns={"n": 1, "large": large}) for _ in range(10)]
    assert [len(chunk.documents) for chunk in chunk_documents(documents)] == [3, 3, 3, 1]
    small = [replace(from_text("one word"), columns={"n": 1, "small": "a" * 100}) for _ in range(10)]
    assert [len(chunk.documents) for chunk in chunk_documents(small)] == [10]
