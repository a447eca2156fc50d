"""A model -> plain values that can be pickled, and back: its parameters, and the files that `save` would write.

pickle, joblib, `copy.deepcopy` and processes that pass models around get the stored form, checksums included, and reading it runs
no code but `load`'s own. (A pickle as a whole can still hold anything: load only those you trust, or pass model folders.)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from difa.storage.atomic import scratch_folder
from difa.storage.persist import load, save

if TYPE_CHECKING:
    from difa.detector import Detector


def freeze(detector: Detector, parameters: dict[str, Any]) -> dict[str, bytes]:
    """The files of a model folder, by name."""
    with scratch_folder() as scratch:
        folder = scratch / "model"
        save(detector, folder, parameters)
        return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def thaw(files: dict[str, bytes], cache: str | Path | None, threads: int | None) -> Detector:
    """The detector from such files; raises `ModelError` as `load` does."""
    with scratch_folder() as folder:
        for file, content in files.items():
            (folder / Path(file).name).write_bytes(content)
        return load(folder, cache, threads)[0]
