"""The command line, in a process of its own or in this one."""

import contextlib
import io
import subprocess
import sys
import warnings

from difa.cli import main
from tests import HANG


def command(*arguments):
    return [sys.executable, "-m", "difa", *map(str, arguments)]


def difa(*arguments, **options):
    """The command in a process of its own."""
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=HANG, **options)


def here(*arguments):
    """The command in this process, which saves its start."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    before, shown, code = sys.argv, warnings.showwarning, 0
    sys.argv = ["difa", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("default")
            main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv, warnings.showwarning = before, shown
    return subprocess.CompletedProcess(arguments, code, out.buffer.getvalue().decode(), err.getvalue())
