"""Try random and hostile texts, files and model folders for some minutes, and count what breaks: `make fuzz MINUTES=5`.

Every target checks the invariants of `tests/fuzz/invariants.py`. Inputs follow from the seed: a breach is printed with the seed
of its input, `--target NAME --seed N --count 1` makes it again. Exit code 1 if anything broke.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.fuzz import hostile
from tests.fuzz.invariants import check_file, check_folder, check_outputs, check_scores, check_unicode, check_words

BATCH = 16  # texts that are scored together


class Targets:
    """What is tried; each takes a generator and says how many inputs it tried."""

    def __init__(self, folder: Path, preset: str) -> None:
        from difa import DiFA

        self._folder = folder
        self._model = DiFA(preset, seed=1, fpr=0.05).fit(hostile.SAMPLES[:200])
        self._model.save(folder / "model")

    def words(self, rng: random.Random) -> int:
        for _ in range(BATCH):
            check_words(hostile.text(rng))
        return BATCH

    def unicode(self, rng: random.Random) -> int:
        for _ in range(BATCH):
            check_unicode(hostile.broken_text(rng))
        return BATCH

    def scores(self, rng: random.Random) -> int:
        """The encoder, every view, the detector, and every form of output."""
        texts = [hostile.text(rng) for _ in range(BATCH)]
        check_outputs(check_scores(self._model, texts), self._folder)
        return BATCH

    def files(self, rng: random.Random) -> int:
        suffix, content = hostile.file(rng)
        path = self._folder / f"input{suffix}"
        path.write_bytes(content)
        check_file(path)
        path.unlink()
        return 1

    def folders(self, rng: random.Random) -> int:
        """A model folder with a byte or two changed, or a file cut short."""
        copy = self._folder / "copy"
        shutil.copytree(self._folder / "model", copy)
        try:
            check_folder(copy, self._model, rng)
        finally:
            shutil.rmtree(copy)
        return 1


SHARES = {"words": 0.05, "unicode": 0.05, "scores": 0.5, "files": 0.25, "folders": 0.15}
"""Part of the time that each target gets."""


def run(target: Callable[[random.Random], int], name: str, seconds: float, seed: int, count: int | None) -> tuple[int, int]:
    """Inputs tried and breaches found."""
    end, tried, broken = time.monotonic() + seconds, 0, 0
    while (time.monotonic() < end) if count is None else count > 0:
        try:
            tried += target(random.Random(f"{name}-{seed}"))
        except Exception:
            broken += 1
            print(f"\n{name}: broken by --target {name} --seed {seed} --count 1\n{traceback.format_exc(limit=-6)}", flush=True)
        seed += 1
        count = None if count is None else count - 1
    return tried, broken


def main() -> int:
    """Run the targets and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--preset", default="fast", help="preset of the model that is tried: fast, full or paper")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", choices=sorted(SHARES), help="try this alone")
    parser.add_argument("--count", type=int, help="rounds, in place of minutes")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, tuple[int, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        targets = Targets(Path(folder), asked.preset)
        for name in [asked.target] if asked.target else SHARES:
            seconds = asked.minutes * 60 * (1 if asked.target else SHARES[name])
            found[name] = run(getattr(targets, name), name, seconds, asked.seed, asked.count)
            print(f"{name:10} {found[name][0]:9,} inputs, {found[name][1]} broken", flush=True)
    tried, broken = (sum(column) for column in zip(*found.values(), strict=True))
    print(f"{'together':10} {tried:9,} inputs, {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
