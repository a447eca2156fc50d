"""Run docs/tutorial.ipynb, keep its outputs, and write docs/tutorial.md from it.

The code cells run one after the other in one namespace, as in a notebook; no Jupyter is needed. A test runs them, too, and
another one compares the page with the notebook.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"
NOTEBOOK, PAGE = DOCS / "tutorial.ipynb", DOCS / "tutorial.md"
_NOTE = "<!-- Written by tools/notebook.py from tutorial.ipynb: change the notebook, then run `make notebook`. -->"


def load() -> dict[str, Any]:
    """The notebook."""
    notebook: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return notebook


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells that run, in their order."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """Run all code cells from the folder of the notebook and keep what they show; returns their names and values."""
    names: dict[str, Any] = {}
    with contextlib.chdir(DOCS):
        for number, cell in enumerate(code_cells(notebook), 1):
            cell["execution_count"], cell["outputs"] = number, _run_cell("".join(cell["source"]), number, names)
    return names


def page(notebook: dict[str, Any]) -> str:
    """The notebook as a Markdown page, with its outputs."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [_shown(output) for output in cell.get("outputs", ())]
    parts.insert(1, _NOTE)
    parts.append("[The notebook itself](tutorial.ipynb), to run and change.")
    return "\n\n".join(parts) + "\n"


def _run_cell(source: str, number: int, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run one cell; the value of its last line is shown if it is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)  # type: ignore[attr-defined]
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None:
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": _data(value)})
    return outputs


def _data(value: Any) -> dict[str, list[str]]:
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    return data


def _shown(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        lines = "".join(data["text/html"]).splitlines()
        return '<div class="output">' + "\n".join(line for line in lines if line.strip()) + "</div>"
    return "```text\n" + "".join(data.get("text/plain", output.get("text", ()))).rstrip("\n") + "\n```"


def main() -> None:
    """Run the notebook and write both files."""
    os.environ.setdefault("COLUMNS", "100")
    notebook = load()
    run(notebook)
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(notebook), encoding="utf-8")


if __name__ == "__main__":
    main()
