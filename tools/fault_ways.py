"""Ways to harm work that runs in a process of its own: kill it, take away its disk, close its folder, interrupt it."""

from __future__ import annotations

import os
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable

from difa.engines import local
from difa.errors import DifaError

CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.truncate", "os.rmdir")
REFUSED, TRACE = 2, 3
NOBODY = 65534


def in_child(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> int:
    """Do something in a process of its own; its exit code, or the signal that ended it, below zero."""
    child = os.fork()
    if not child:
        code = TRACE
        try:
            warnings.simplefilter("ignore")
            local._PART = 0.0  # each chunk is a part
            before()
            work()
            code = 0
        except DifaError:
            code = REFUSED
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_before(change: int) -> Callable[[], None]:
    """Let this process die before its n-th change of the disk: a file opened for writing, renamed, cut or removed."""

    def install() -> None:
        count = 0

        def watch(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal count
            writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if writes or event in CHANGES:
                count += 1
                if count >= change:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)

    return install


def kill_after(seconds: float) -> Callable[[], None]:
    """Let this process die in a while, wherever it is then."""

    def install() -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    return install


def small_files(size: int) -> Callable[[], None]:
    """Let no file grow beyond so many bytes, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def rain_of_signals() -> None:
    """Interrupt system calls a thousand times a second."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)


def give_up_rights() -> None:
    """What is closed to others is closed to this process, too."""
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
