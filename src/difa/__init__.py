"""DiFA: which words in a text do not belong, and which documents.

Learned from normal documents alone. The stages, in the order in which data passes through them:
`words` text -> words · `encoders` words -> vectors · `views` words + vectors -> raw evidence · `calibrate` raw -> tail
evidence and p-values · `fuse` evidence -> word scores · `document_score` words -> document score (`paper`: both, as
in the paper). Beside them: `knowledge` of the
language, `perturb` makes errors to learn from, `fitting` learns all of it, `detector` scores with it, `decide` flags, `estimator`
is what you use, `persist` keeps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["Config", "DiFA", "DifaError", "Document", "Result", "Word", "WordScore", "__version__"]

if TYPE_CHECKING:
    from difa.config import Config
    from difa.document import Document, Result, Word, WordScore
    from difa.errors import DifaError
    from difa.estimator import DiFA

_HOMES = {"Config": "config", "DiFA": "estimator", "DifaError": "errors"}


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that `import difa` stays light.
    if name not in __all__:
        raise AttributeError(f"module 'difa' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"difa.{_HOMES.get(name, 'document')}"), name)


def __dir__() -> list[str]:
    return __all__
