"""Work on the next item while the one before is in use: order, errors, and no more than one ahead."""

import gc
import threading
import time
import weakref
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


def prefetched(work, items, most=1):
    with prefetch(work, items, most) as made:
        yield from made


def test_chunks_are_bounded_and_in_order():
    documents = [from_tokens(["a"] * length) for length in [1] * 300 + [MOST_WORDS, 2 * MOST_WORDS, 1, 0]]
    chunks = [chunk.documents for chunk in chunk_documents(documents)]
    assert [len(chunk) for chunk in chunks] == [MOST_DOCUMENTS, 44, 1, 1, 2]
    assert [document for chunk in chunks for document in chunk] == documents
    assert list(chunk_documents([])) == []


def test_a_chunk_ends_where_it_is_told_to():
    assert list(cut_chunks(range(1, 8), lambda n: 1, lambda n: n % 3 == 0)) == [[1, 2, 3], [4, 5, 6], [7]]


@pytest.mark.parametrize("most", [0, 1, 3])
def test_the_same_in_order_either_way(most):
    assert list(prefetched(str, range(1, 6), most)) == ["1", "2", "3", "4", "5"]
    assert list(prefetched(str, [], most)) == []


def test_the_next_is_made_while_the_caller_has_one_and_no_more():
    begun = [threading.Event() for _ in range(4)]
    made = prefetched(lambda n: begun[n - 1].set(), [1, 2, 3, 4])
    next(made)
    assert begun[1].wait(HANG)
    assert not begun[2].wait(0.2)
    next(made)
    assert begun[2].wait(HANG)
    assert not begun[3].wait(0.2)
    made.close()
    assert not begun[3].wait(0.2)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_an_error_comes_behind_what_was_before_it_and_stays(most):
    with prefetch(lambda n: 6 // (3 - n), [1, 2, 3, 4], most) as made:
        assert [next(made), next(made)] == [3, 6]
        for _ in range(2 if most else 1):
            with pytest.raises(ZeroDivisionError):
                next(made)


def test_one_core_means_the_callers_thread():
    assert list(prefetched(lambda n: threading.current_thread(), [1, 2], 0)) == [threading.current_thread()] * 2


def test_what_is_there_goes_out_before_more_is_waited_for():
    may_go_on = threading.Event()

    def items():
        yield 1
        assert may_go_on.wait(HANG)
        yield 2

    made = prefetched(str, items())
    assert next(made) == "1"
    may_go_on.set()
    assert next(made) == "2"


def test_the_end_waits_for_work_under_way_but_not_for_an_item():
    begun, may_end, done = threading.Event(), threading.Event(), []

    def work(n):
        begun.set()
        may_end.wait(0.2)
        done.append(n)

    with prefetch(work, [1, 2], 1):
        assert begun.wait(HANG)
    assert done == [1]
    never = threading.Event()
    with prefetch(str, iter(never.wait, None), 1):
        pass
    never.set()


def test_nothing_is_held_once_all_is_made():
    class Model:
        pass

    gc.collect()
    gc.disable()
    try:
        model = Model()
        kept = weakref.ref(model)
        assert list(prefetched(lambda n, model=model: n, [1, 2])) == [1, 2]
        del model
        deadline = time.monotonic() + HANG
        while kept() is not None and time.monotonic() < deadline:
            time.sleep(0.01)  # until the thread has ended
        assert kept() is None
    finally:
        gc.enable()


def test_whoever_waits_for_more_is_told_of_the_end():
    never = threading.Event()
    with prefetch(str, iter(never.wait, None), 1) as first, prefetch(str, first, 1) as second:
        waiting = second._made
    assert waiting.get(timeout=HANG) == []
    never.set()


@pytest.mark.parametrize("most", [0, 1])
def test_who_gives_up_the_work_gives_up_what_is_done_ahead(most):
    with cancellable(lambda: False), pytest.raises(Cancelled):
        list(prefetched(lambda n: check_cancelled(), [1, 2], most))


@pytest.mark.parametrize("large", ["a" * (20 << 10), ["a" * (10 << 10), {"b": ["c" * (10 << 10)]}], [None] * (5 << 9)])
def test_large_columns_are_held_for_few_documents_at_a_time(monkeypatch, large):
    monkeypatch.setattr("difa.runtime.parallel._COLUMN_WORD", 16)
    documents = [replace(from_text("one word"), columns={"n": 1, "large": large}) for _ in range(10)]
    assert [len(chunk.documents) for chunk in chunk_documents(documents)] == [3, 3, 3, 1]
    small = [replace(from_text("one word"), columns={"n": 1, "small": "a" * 100}) for _ in range(10)]
    assert [len(chunk.documents) for chunk in chunk_documents(small)] == [10]
