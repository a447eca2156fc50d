"""Tables and reports beside scoring: what reading a CSV costs, and how long a report of many documents takes.

python benchmarks/tables.py MODEL --documents 10000
"""

import argparse
import csv
import random
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TypeVar

from typer.testing import CliRunner

from difa import DiFA
from difa.cli import app
from difa.formats import read_documents
from difa.formats.write import to_json_line

T = TypeVar("T")
NORMAL = Path(__file__).parent.parent / "examples" / "support" / "normal.txt"


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What the work gives, and how many seconds it takes."""
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def write_table(path: Path, documents: int) -> None:
    """A CSV of documents that all differ, with an id and a day."""
    draw, texts = random.Random(0), NORMAL.read_text(encoding="utf-8").splitlines()
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = ([number, f"{draw.choice(texts)} {number}", f"2026-11-{number % 28 + 1:02d}"] for number in range(documents))
        csv.writer(file).writerows([["ticket", "body", "day"], *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--documents", type=int, default=10_000)
    options = parser.parse_args()
    model = DiFA.load(options.model)
    model.score(["Where is my order?"])
    with tempfile.TemporaryDirectory() as name:
        table, scores, page = (Path(name) / file for file in ("in.csv", "scores.jsonl", "report.html"))
        write_table(table, options.documents)
        with redirect_stderr(StringIO()):  # which column was taken for the text
            documents, reading = timed(lambda: list(read_documents([str(table)])))
        results, scoring = timed(lambda: model.score(documents))
        scores.write_text("".join(map(to_json_line, results)), encoding="utf-8")
        done, reporting = timed(lambda: CliRunner().invoke(app, ["report", str(scores), "--out", str(page)]))
        if done.exit_code:
            raise SystemExit(done.output)
        print(f"{len(documents):,} documents: reading the CSV {reading:.2f} s, scoring {scoring:.2f} s: {reading / scoring:.1%}")
        print(f"report: {reporting:.2f} s, {page.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
