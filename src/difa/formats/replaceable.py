"""A file that is to be written -> whether something is there that DiFA did not write, as the content tells."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path

from difa.errors import ConfigError, DifaError, InputError
from difa.formats.bounds import MOST_BYTES
from difa.formats.labelstudio import CONFIGURATION, ID_KEY
from difa.formats.lines import is_result
from difa.formats.parquet import read_metadata
from difa.formats.parquet_output import META
from difa.formats.shape import SUMMARISED
from difa.formats.sources import Source

GENERATOR = "<meta name='generator' content='DiFA'>"
"""What HTML of ours says of itself."""
SOFTWARE = {"Software": "DiFA"}
"""What pictures of ours say of themselves."""
_HEAD = 1 << 16


def check_output(out: Path, inputs: Iterable[str | Path] = (), force: bool = False) -> None:
    """Refuse a file that is read, that has no folder, or that holds what DiFA did not write, unless it is replaced by force."""
    if out.exists() and any(Path(name).exists() and out.samefile(name) for name in inputs):
        raise ConfigError(f"{out}: expected another file than those that are read, got one of them: choose another name")
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise InputError(f"{out}: expected a file in a folder that exists: choose another place")
    if out.is_file() and not force and not _is_ours(out):
        raise ConfigError(
            f"{out}: expected a new file, or one that difa wrote, found another: rename it, or force=True replaces it"
        )


def _is_ours(path: Path) -> bool:
    try:
        with Source(str(path)).open_bytes() as (file, _):
            first = file.readline(MOST_BYTES)
            head = first + file.readline(MOST_BYTES) + file.read(_HEAD)
        if head.startswith(b"PAR1"):
            return META in (read_metadata(str(path)).metadata or {})
    except DifaError:
        return False
    if head.startswith(b"[\n"):  # tasks for Label Studio
        return f'"{ID_KEY}": '.encode() in head or head == b"[\n]\n"
    if head.startswith((b"# HELP difa_", b'{\n "difa_monitor": ')) or head in (b"", CONFIGURATION.encode()):
        return True
    return GENERATOR.encode() in head or b"Software\0DiFA" in head or _is_result(first.decode("utf-8-sig", "replace"))


def _is_result(line: str) -> bool:
    """Whether it is a line of results in JSON, or the header of a table of them."""
    try:
        if line.startswith("{"):
            return is_result(json.loads(line))
        names = next(csv.reader([line], delimiter="\t" if "\t" in line else ","))[-len(SUMMARISED) :]
        return [name.replace("difa_", "") for name in names] == list(SUMMARISED)
    except (ValueError, RecursionError, csv.Error):
        return False
