"""Models on the Hugging Face hub: a model folder goes up with a card, and comes down as a stranger's.

The hub's client keeps downloads in a cache in which files are links. They are followed only within the cache of the repository,
and what they lead to is read and checked as any other model folder. Needs the extra `hub`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from difa.errors import ModelError, import_extra
from difa.storage.atomic import scratch_folder, write_synced
from difa.storage.model_folder import CONFIG, MOST_BYTES, read_regular, reason_of

if TYPE_CHECKING:
    from difa.estimator import DiFA

_FILES = [CONFIG, "weights.safetensors", "tokenizer.json", "*.onnx", "README.md"]
_HEADER = """---
library_name: difa
pipeline_tag: token-classification
tags:
- difa
- anomaly-detection
- text
{language}---

"""


def push(model: DiFA, repository: str, *, private: bool, revision: str | None, token: str | None) -> str:
    """Put a fitted model into a repository of the hub, which is made if there is none; returns the address of the commit."""
    with scratch_folder() as scratch:
        folder = scratch / "model"
        model.save(folder)
        card, language = folder / "README.md", model.detector_.language
        header = _HEADER.format(language=f"language: {language}\n" if language else "")
        write_synced(card, (header + card.read_text(encoding="utf-8")).encode())
        with _hub(repository, "did not take the model", "the connection and your token") as client:
            hub = client.HfApi(token=token)
            hub.create_repo(repository, private=private, exist_ok=True)
            commit = hub.upload_folder(
                repo_id=repository,
                folder_path=folder,
                revision=revision,
                commit_message="A DiFA model",
                delete_patterns=_FILES,  # what an older model had and this one has not
            )
    return str(commit.commit_url)


@contextmanager
def fetched(repository: str, revision: str | None, token: str | None) -> Iterator[Path]:
    """A temporary folder with copies of a repository's files, downloaded or from the hub's local cache."""
    with _hub(repository, "could not deliver the model", "the revision and the connection") as client:
        snapshot = Path(client.snapshot_download(repository, revision=revision, token=token, allow_patterns=_FILES))
    inside = snapshot.resolve().parents[1]  # the repository's own part of the cache
    with scratch_folder() as folder:
        for path in sorted(snapshot.iterdir()):
            target = path.resolve()
            if not target.is_relative_to(inside):
                raise ModelError(f"{repository}: expected files of its own, got a link to elsewhere: {path.name[:100]!r}")
            write_synced(folder / path.name, read_regular(target, MOST_BYTES))
        yield folder


@contextmanager
def _hub(repository: str, failed: str, remedy: str) -> Iterator[Any]:
    """The hub's client, whose errors become one line."""
    client = import_extra("huggingface_hub", "hub", "a model on the Hugging Face hub")
    try:
        yield client
    except Exception as error:  # the hub client raises dozens of kinds, all meaning "could not be done"
        raise ModelError(f"{repository}: the Hugging Face hub {failed} ({reason_of(error)}): check the name, {remedy}") from None
