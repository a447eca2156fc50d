"""A fitted estimator <-> the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from difa.estimator import DiFA


class OnHub:
    """What an estimator inherits, so that it can be shared on the hub."""

    def save_to_hub(self, repo_id: str, *, private: bool = True, revision: str | None = None, token: str | None = None) -> str:
        """Put the fitted model, with a card, into a repository of the Hugging Face hub; returns the commit's address.

        Args:
            repo_id: `owner/name`; the repository is made if there is none.
            private: whether a new repository can be seen by its owner alone.
            revision: branch to write to; None takes the main one.
            token: access token; None takes the one that the hub's client has stored.
        """
        from difa.integrations.hub import push

        return push(cast("DiFA", self), repo_id, private=private, revision=revision, token=token)

    @classmethod
    def from_hub(
        cls,
        repo_id: str,
        *,
        revision: str | None = None,
        token: str | None = None,
        cache: str | Path | None = None,
        threads: int | None = None,
    ) -> Any:
        """A model from the Hugging Face hub, checked like any stranger's model folder.

        Args:
            repo_id: `owner/name`.
            revision: commit, tag or branch; a commit makes sure that it is the same model every time.
            token: as in `save_to_hub`.
            cache: as in `load`.
            threads: as in `load`.
        """
        from difa.integrations.hub import fetched

        with fetched(repo_id, revision, token) as folder:
            return cast("type[DiFA]", cls).load(folder, cache=cache, threads=threads)
