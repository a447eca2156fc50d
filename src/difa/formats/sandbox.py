"""Files of strangers are read in a child process: a crash, or too much memory, costs that file and nothing else.

A reader is a function of a module that takes JSON values and yields lines of JSON. Nothing else crosses the pipe, and nothing is
unpickled. The child's memory is bounded where the system can do that. Its time is not: the caller can stop it at any moment.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from difa.errors import DifaError, InputError

MOST_MEMORY = 4 << 30  # bytes for the child of the command line, which reads all files one after another
_ITEM, _REFUSED, _TOO_LARGE, _END = b"=", b"!", b"+", b"."
_IN_CHILD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Otherwise the stacks of threads and the reserves of pools would count as memory."""

Reader = Callable[..., Iterator[str]]
Child = subprocess.Popen[bytes]

_idle: dict[int, Child] = {}  # by the id of this process: one that is forked must not use the child of its parent
_busy: set[Child] = set()  # keeps a child until its reader is closed: the garbage collector might take the child first
_is_child = False
_OUT_OF_MEMORY = "expected a file that can be read in bounded memory, got one that takes more: write it in smaller parts"


class TooLargeError(InputError):
    """A file takes more memory or room than it may."""


def lines_apart(label: str, reader: Reader, *arguments: Any) -> Iterator[bytes]:
    """The lines of a reader, from a child that is kept for the next file; within a child the reader is simply called."""
    if _is_child:
        yield from map(str.encode, reader(*arguments))
        return
    child = _idle.pop(os.getpid(), None)
    if child is None or child.poll() is not None:  # someone else ended it
        stop(child)
        child = start(MOST_MEMORY)
    _busy.add(child)
    is_ready = False  # for the next file: not if it crashed, or if the caller reads no further
    try:
        yield from ask(child, label, reader, *arguments)
        is_ready = True
    except InputError as error:
        is_ready = child.poll() is None and not isinstance(error, TooLargeError)  # it refused the file
        raise
    finally:
        _busy.discard(child)
        stop(_idle.pop(os.getpid(), None) if is_ready else child)  # the idle one read another file at the same time
        if is_ready:
            _idle[os.getpid()] = child


def start(memory: int) -> Child:
    """A child with at most so many bytes of memory, which imports from the same places as this process."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import answer_all; answer_all({memory})"
    command = [sys.executable, "-c", code]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing, env=os.environ | _IN_CHILD)


def ask(child: Child, label: str, reader: Reader, *arguments: Any) -> Iterator[bytes]:
    """The lines of a reader that runs in the child; raises `InputError` if it refuses the file or crashes."""
    if child.stdin is None or child.stdout is None:
        raise ValueError("expected a child with pipes")
    with suppress(BrokenPipeError):  # the child has ended, as its output will show
        child.stdin.write(json.dumps([reader.__module__, reader.__name__, arguments]).encode() + b"\n")
        child.stdin.flush()
    for line in child.stdout:
        match line[:1]:
            case b"=":
                yield line[1:]
            case b".":
                return
            case kind:
                message = json.loads(line[1:])
                raise TooLargeError(message or f"{label}: {_OUT_OF_MEMORY}") if kind == _TOO_LARGE else InputError(message)
    code = child.wait()
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    raise InputError(f"{label}: cannot be read: the process that reads it crashed ({how}): write the file again")


def stop(child: Child | None) -> None:
    """End a child, whatever it is doing."""
    if child is not None:
        child.kill()
        with suppress(BrokenPipeError), child:
            pass


def answer_all(memory: int) -> None:
    """The main function of the child: call readers as the parent asks for them, until it ends."""
    global _is_child
    _is_child = True
    _limit(memory)
    for line in sys.stdin.buffer:
        module, name, arguments = json.loads(line)
        sys.stdout.buffer.write(_answer(getattr(import_module(module), name), arguments) + b"\n")
        sys.stdout.buffer.flush()


def _answer(reader: Reader, arguments: list[Any]) -> bytes:
    """Write the lines of a reader, and return the line that says how it ended."""
    try:
        for item in reader(*arguments):
            sys.stdout.buffer.write(_ITEM + item.encode() + b"\n")
        return _END
    except MemoryError:
        return _TOO_LARGE + b"null"
    except TooLargeError as error:
        return _TOO_LARGE + json.dumps(str(error)).encode()
    except DifaError as error:
        return _REFUSED + json.dumps(str(error)).encode()


def _limit(memory: int) -> None:
    """Bound the memory of this process, write no core dumps, and be ended first if the machine runs out of memory."""
    try:
        import resource
    except ImportError:  # no such limits on this system
        return
    for kind, most in ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


atexit.register(lambda: stop(_idle.pop(os.getpid(), None)))
