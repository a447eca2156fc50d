"""The files of a model folder, read as if a stranger had made them.

Only regular files within the folder are opened, by plain names, and never more of them than a bound; every file has its
checksum in config.json, and config.json has its own. What is not as expected is one line that names the file.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from difa.document import FloatArray
from difa.errors import InputError, ModelError
from difa.storage.atomic import fresh_text, restore, unfinished

FORMAT = 8
CONFIG = "config.json"
CHECKSUM = "checksum"
_ENTRIES = ("files", "stages", "encoder", "parameters", "training", "seed", "language", "knowledge")
MOST_BYTES = 2 << 30  # bytes of one file: what an ONNX graph can have at most
_MOST_CONFIG = 16 << 20
_MOST_FILES = 32
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LONGEST_REASON = 300  # characters of an error's own words that are passed on


def read_config(folder: Path) -> dict[str, Any]:
    """The checked settings of a model folder; a model whose replacement was cut off is put back first."""
    restore(folder)
    path = folder / CONFIG
    if not path.exists():
        raise ModelError(
            f"{folder}: expected a model folder with config.json, found none: give the folder that a fitted model was saved to"
        )
    config = parse_json(path, read_regular(path, _MOST_CONFIG))
    found = config.get("difa_format")
    if found != FORMAT or isinstance(found, bool):
        version = str(config.get("difa_version", "unknown"))[:40]
        raise ModelError(
            f"{path}: expected model format {FORMAT}, got {found!r:.40} (written by difa {version!r}): "
            "fit again or use that version"
        )
    if CHECKSUM in config and config[CHECKSUM] != digest_of(config):
        raise ModelError(f"{path}: expected settings with its checksum, got others: the file was changed; copy or save it again")
    for key in _ENTRIES:
        if key not in config:
            raise ModelError(f"{path}: expected the entry {key!r}, found none: the model is damaged, fit and save it again")
    return config


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Replace the settings of a model folder, with a new checksum."""
    try:
        with fresh_text(folder / CONFIG) as file:
            file.write(config_json(config))
    except InputError as error:
        raise ModelError(str(error)) from None


def config_json(config: Mapping[str, Any]) -> str:
    """Settings as they are stored, with their checksum."""
    return json.dumps({**config, CHECKSUM: digest_of(config)}, indent=2)


def digest_of(config: Mapping[str, Any]) -> str:
    """Checksum of all entries but the checksum itself; order and white space do not matter."""
    entries = {key: value for key, value in config.items() if key != CHECKSUM}
    return sha256(json.dumps(entries, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def parse_json(path: Path, content: bytes) -> dict[str, Any]:
    """An object from JSON; a key that stands twice, a number that is none and anything else odd are refused."""
    try:
        config = json.loads(content.decode(), object_pairs_hook=unique_keys, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: expected readable JSON, got {reason_of(error)}") from None
    if not isinstance(config, dict):
        raise ModelError(f"{path}: expected a JSON object, got {type(config).__name__}")
    return config


def read_files(folder: Path, files: Any) -> dict[str, bytes]:
    """The content of the files that the settings name, which `check_sums` has yet to check."""
    path = folder / CONFIG
    if not isinstance(files, dict) or len(files) > _MOST_FILES:
        raise ModelError(f"{path}: expected at most {_MOST_FILES} files with their checksums, got {type(files).__name__}")
    content = {}
    for name, digest in files.items():
        if not _PLAIN_NAME.fullmatch(name) or name == CONFIG:
            raise ModelError(
                f"{path}: expected the names of files in the folder, got {name[:100]!r}: the model is not safe to load"
            )
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise ModelError(f"{path}: expected the sha256 of {name}, got {digest!r:.100}")
        content[name] = read_regular(folder / name, MOST_BYTES)
    return content


def check_sums(folder: Path, content: Mapping[str, bytes], digests: Mapping[str, str]) -> None:
    """Refuse files whose content is not what their checksums say."""
    for name, digest in digests.items():
        found = sha256(content[name]).hexdigest()
        if found != digest:
            raise ModelError(
                f"{folder / name}: expected sha256 {digest[:12]}…, got {found[:12]}…: the file was changed or cut short"
            )


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file of bounded size; links, devices, pipes and folders are refused unread."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        if path.is_symlink():
            raise ModelError(f"{path}: expected a regular file, got a link: copy the file itself into the folder")
        with open(os.open(path, flags), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise ModelError(f"{path}: expected a regular file, got something else: the model is not safe to load")
            if found.st_size > most:
                raise ModelError(f"{path}: expected at most {most} bytes, got {found.st_size}: the model is not safe to load")
            return file.read(found.st_size)
    except FileNotFoundError:
        raise ModelError(f"{path}: missing from the model folder: copy the folder again, or fit and save it again") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    except MemoryError:
        raise ModelError(f"{path}: does not fit into memory") from None


def read_tensors(content: bytes) -> dict[str, FloatArray]:
    """Arrays from safetensors, whose own reader checks that sizes and places fit the file; all numbers must be finite."""
    from safetensors.numpy import load as parse

    tensors: dict[str, FloatArray] = dict(parse(content))
    for name, values in tensors.items():
        if values.dtype.kind not in "fiu":
            raise ValueError(f"{name[:100]!r}: expected numbers, got {values.dtype}")
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError(f"{name[:100]!r}: expected finite numbers, got NaN or infinity")
    return tensors


def is_model(folder: Path) -> bool:
    """Whether a folder looks like a model of ours."""
    path = folder / CONFIG
    try:
        return "difa_format" in parse_json(path, read_regular(path, _MOST_CONFIG))
    except ModelError:
        return False


def check_place(folder: Path) -> None:
    """Refuse a folder that cannot be written, or where something other than an older model lies, before any work is done."""
    if os.path.exists(folder) and not is_model(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise ModelError(
            f"{folder}: expected a new folder, an empty one or an older model, found other files: choose another folder"
        )
    existing = next(parent for parent in folder.absolute().parents if parent.exists())
    try:
        trial = existing / unfinished(folder).name
        trial.mkdir()
        trial.rmdir()
    except OSError as error:
        raise ModelError(
            f"{folder}: expected a folder that can be written, but {existing} cannot ({error.strerror}): choose another folder"
        ) from None


def reason_of(error: BaseException) -> str:
    """What went wrong, in one line of bounded length without control characters."""
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return "".join(character if character.isprintable() else "?" for character in words)[:_LONGEST_REASON]


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; raises `ValueError` if it has a key twice."""
    entries: dict[str, Any] = {}
    for key, value in pairs:
        if key in entries:
            raise ValueError(f"the key {key[:40]!r} twice")
        entries[key] = value
    return entries


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} in the place of a number")
