"""Check this project's own pages with DiFA (`make prose`): `difa check`, by a model of all other pages and of the docstrings.

Half of the pages are checked by a model that has not seen them, then the other half. What counts has a fault with a name or a
suggestion; what is right and still found goes into tools/prose_words.txt. Generated pages, formulas, tables of names and pages
that show odd text are left out.
"""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from difa import DiFA
from difa.config import NOISE_KINDS
from difa.formats.prose import read_prose

MODEL = Path("build/prose-model")
WORDS = Path("tools/prose_words.txt")
LEFT_OUT = {
    *("benchmark-tables.md", "benchmark-mpnet.md", "settings.md", "commands.md", "tutorial.md"),
    *("dependencies.md", "method.md", "paper.md", "strengths.md"),
}
PER_THOUSAND = 0.5


def main() -> None:
    """Check both halves; exit code 1 if something is found."""
    os.chdir(Path(__file__).parent.parent)
    MODEL.parent.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")  # that some paragraphs do not belong among the others is no news here
    named = [Path("README.md"), Path("CONTRIBUTING.md"), Path("SECURITY.md")]
    pages = [page for page in (*named, *sorted(Path("docs").glob("*.md"))) if page.name not in LEFT_OUT]
    found = [finding for half in (0, 1) for finding in check(pages[half::2], pages[1 - half :: 2])]
    for finding in found:
        print("{path}:{line}:{column}: {kind}: {message}".format(**finding))
    sys.exit(1 if found else 0)


def check(pages: Sequence[Path], others: Sequence[Path]) -> list[dict[str, str]]:
    """What a model of the other pages finds."""
    known = (*others, *sorted(Path("src").rglob("*.py")))
    texts = [paragraph.text for path in known for paragraph in read_prose(path).paragraphs]
    DiFA("fast", stages={"ignore": {"kinds": NOISE_KINDS}}).fit(texts).save(MODEL)
    options = ["--per-thousand", str(PER_THOUSAND), "--allow", str(WORDS), "--format", "json", "--quiet"]
    command = [sys.executable, "-m", "difa", "check", str(MODEL), *map(str, pages), *options]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if run.returncode > 1:
        sys.exit(run.returncode)
    found = json.loads(run.stdout)
    # Two words with ignored code between them look doubled.
    return [one for one in found if (one["suggestion"] or one["kind"] != "unusual word") and one["kind"] != "doubled word"]


if __name__ == "__main__":
    main()
