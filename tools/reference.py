"""Write the reference pages of the documentation, docs/settings.md and docs/commands.md, from the code itself.

Settings come from `Config` and its presets, with the reasons that stand beside the defaults; commands from the command line.
A test fails where a page is not what this writes.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import typer

from difa.cli import app
from difa.config import Config, Preset

DOCS = Path(__file__).parent.parent / "docs"
_NOTE = "<!-- Written by tools/reference.py from the code: change it there, then run `make reference`. -->"


def settings_page() -> str:
    """Every setting of every stage: its default, what other presets have instead, and why."""
    presets = {name: Config.preset(name) for name in get_args(Preset)}
    parts = [
        "# Settings",
        _NOTE,
        "All stages and their settings, with the defaults of the preset `full` and what other presets have instead. "
        "[Usage](usage.md) says how to change them.",
    ]
    for stage in fields(Config):
        values = {name: getattr(config, stage.name) for name, config in presets.items()}
        kind = type(values["full"])
        rows = [_setting(field.name, values, _reasons(kind)) for field in fields(kind)]
        table = "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows])
        parts += [f"## {stage.name}", inspect.cleandoc(kind.__doc__ or ""), table]
    return "\n\n".join(parts) + "\n"


def commands_page() -> str:
    """Every command with its arguments, options and examples."""
    parts = ["# Commands", _NOTE, "What `difa COMMAND --help` says, on one page."]
    root: Any = typer.main.get_command(app)
    for name in root.commands:
        command = root.get_command(None, name)
        inner = getattr(command, "commands", None)
        for path, found in [(f"{name} {sub}", one) for sub, one in inner.items()] if inner else [(name, command)]:
            parts += _command(f"difa {path}", found)
    return "\n\n".join(parts) + "\n"


def _setting(name: str, values: dict[str, Any], reasons: dict[str, str]) -> str:
    default = getattr(values["full"], name)
    others = {preset: getattr(value, name) for preset, value in values.items()}
    differing = [f"; `{preset}`: {_shown(value)}" for preset, value in others.items() if value != default]
    return f"| `{name}` | {_shown(default)}{''.join(differing)} | {_cell(reasons.get(name, ''))} |"


def _shown(value: Any) -> str:
    return f"`{_cell(repr(value))}`"


def _reasons(kind: type) -> dict[str, str]:
    """The text behind each field of a dataclass."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
    reasons: dict[str, str] = {}
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            reasons[field.target.id] = str(text.value.value)  # type: ignore[union-attr]
    return reasons


def _command(title: str, command: Any) -> list[str]:
    rows = [_parameter(parameter) for parameter in command.params if parameter.name != "help"]
    table = "\n".join(["| argument or option | default | meaning |", "|---|---|---|", *rows])
    parts = [f"## {title}", inspect.cleandoc(command.help or ""), table]
    examples = [line for line in (command.epilog or "").removeprefix("Examples:").splitlines() if line.strip()]
    return [*parts, "\n".join(["```sh", *examples, "```"])] if examples else parts


def _parameter(parameter: Any) -> str:
    is_option = parameter.param_type_name == "option"
    name = ", ".join(f"`{option}`" for option in parameter.opts) if is_option else f"`{parameter.name.upper()}`"
    default = parameter.default
    shown = "" if default is None or default is False or default == "" or parameter.required else f"`{_cell(str(default))}`"
    return f"| {name} | {'required' if parameter.required else shown} | {_cell(parameter.help or '')} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


PAGES = {"settings.md": settings_page, "commands.md": commands_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
