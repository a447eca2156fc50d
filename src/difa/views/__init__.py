"""Words and vectors -> raw evidence: one view per file or folder, all behind one protocol.

`VIEW_NAMES` in `difa.config` lists the views; the module of each name declares it as `VIEW` (`view` says what that is), and is
loaded when it is asked for. Scales differ between views; calibration makes them comparable. A view that does not speak the
corpus' language is silent: 0 for every word.
"""

from __future__ import annotations

from importlib import import_module

from difa.config import NO_ENCODER, VIEW_NAMES, Config
from difa.errors import ConfigError
from difa.views.view import SILENT, AddedDocuments, SavedView, TrainingData, View, ViewKind, Wording

__all__ = [
    "SILENT",
    "AddedDocuments",
    "SavedView",
    "TrainingData",
    "View",
    "ViewKind",
    "Wording",
    "check_views",
    "extend_view",
    "fit_view",
    "prepare_views",
    "restore_view",
    "view_kind",
    "wording_of",
]


def view_kind(name: str) -> ViewKind:
    """What the module of a view declares."""
    if name not in VIEW_NAMES:
        raise ConfigError(f"unknown view {name!r}: expected one of {', '.join(VIEW_NAMES)}")
    kind: ViewKind = import_module(f"difa.views.{name}").VIEW
    return kind


def wording_of(name: str) -> Wording:
    """How reports speak of a view, and of any other name."""
    known = view_kind(name).wording if name in VIEW_NAMES else None
    return known or Wording(f"words that stand out by {name}", f"stands out by {name}")


def check_views(config: Config) -> Config:
    """The same settings; views that see nothing but vectors are refused where there is no encoder."""
    blind = [name for name in config.views.names if view_kind(name).needs_vectors]
    if blind and config.encoder.name == NO_ENCODER:
        raise ConfigError(f"views.names: expected views that need no vectors beside encoder.name=none, got {', '.join(blind)}")
    return config


def prepare_views(data: TrainingData) -> None:
    """Run set-up that is not thread-safe before views are fitted in parallel."""
    for name in data.config.views.names:
        prepare = view_kind(name).prepare
        if prepare:
            prepare(data)


def fit_view(name: str, data: TrainingData) -> View:
    """Fit a view."""
    return view_kind(name).fit(data)


def extend_view(view: View, added: AddedDocuments) -> View:
    """The view with what further documents add to its counts; what was trained stays as it is."""
    extend = view_kind(view.name).extend
    if extend is None:
        raise ConfigError(f"the view {view.name} is trained as a whole and cannot take further documents: fit anew")
    return extend(view, added)


def restore_view(name: str, saved: SavedView) -> View:
    """A view from what it saved."""
    return view_kind(name).restore(saved)
