"""Every error that DiFA raises on purpose.

    DifaError
    ├── ConfigError      an impossible or unknown setting
    ├── InputError       a document, line or file that cannot be read as text
    ├── EncoderError     an encoder that cannot be found, checked or run
    ├── ModelError       a model folder that is missing, damaged or of another format
    ├── NotFittedError   scoring before fitting
    ├── EngineError      a cluster that cannot be reached, or workers that fail
    └── MissingExtraError  an optional part that is not installed

Each message says what was expected, what came, and what to do; the command line prints it as one line and exits with 2.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class DifaError(Exception):
    """Base of all errors that a user can act on."""


class ConfigError(DifaError, ValueError):
    """A setting is unknown or impossible."""


class InputError(DifaError, ValueError):
    """A document, line or file cannot be read."""


class EncoderError(DifaError):
    """The encoder cannot be found, fails its check or cannot be run."""


class ModelError(DifaError):
    """A model folder is missing, damaged or of another format."""


class NotFittedError(DifaError):
    """The detector was asked to score before it was fitted or loaded."""


class EngineError(DifaError):
    """A cluster cannot be reached, or its workers cannot do their work."""


class MissingExtraError(DifaError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, module: str, extra: str, purpose: str) -> None:
        super().__init__(f'{purpose} needs the package "{module}", which is not installed: run pip install "difa[{extra}]"')


def import_extra(module: str, extra: str, purpose: str) -> Any:
    """A module that needs what an extra brings, or the error that says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:  # of the package itself, or of one that it needs
        raise MissingExtraError(error.name or module, extra, purpose) from None
