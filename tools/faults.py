"""Kills fits, saves and runs of scoring at random moments, takes away their disk, and looks whether anything was lost.

    python tools/faults.py --faults 500 --seed 0

A run is a child process that is killed before its n-th change of the disk, or after a random time; or its files may not grow, or
its folder is closed, or signals rain on it. Then the same run goes on with `resume`. Nothing half-written may stand under a valid
name, the outcome must be byte for byte that of a run without faults, nothing may be left beside it, and no fault may end in a
trace. A table says what was done; the exit code is 1 if anything was lost.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fault_ways import REFUSED, TRACE, give_up_rights, in_child, kill_after, kill_before, rain_of_signals, small_files

from difa import DiFA
from difa.engines.local import Job, Silent, score_inputs
from difa.errors import DifaError
from difa.runtime import parallel as chunks

CORPUS = Path(__file__).parent.parent / "examples/support/normal.txt"
Run = Callable[[Path], object]
"""Does the work, or goes on with it, with results at a place."""


@dataclass
class Scene:
    """Work that leaves files, what it leaves without faults, and whether what is there after a fault is right."""

    name: str
    run: Run
    whole: dict[str, bytes] = field(default_factory=dict)
    injected: Counter[str] = field(default_factory=Counter)
    losses: list[str] = field(default_factory=list)
    older: Callable[[Path], object] | None = None
    """Puts what was there before the work."""

    def lose(self, what: str) -> None:
        self.losses.append(f"{self.name}: {what}")


def files_at(place: Path) -> dict[str, bytes]:
    """Everything of a run that stands under a valid name, by its path."""
    found = [place] if place.is_file() else sorted(place.rglob("*"))
    names = {path: path.relative_to(place) for path in found if path.is_file()}
    return {str(name): path.read_bytes() for path, name in names.items() if not any(p.startswith(".") for p in name.parts)}


def timeless(files: dict[str, bytes]) -> dict[str, object]:
    """Files, without the times at which a model was saved and updated."""
    found: dict[str, object] = dict(files)
    if "config.json" in files:
        config = json.loads(files["config.json"])
        config.get("updates", {}).pop("last", None)
        config["files"].pop("README.md", None)  # the card says the time of an update
        found["config.json"] = {k: v for k, v in config.items() if k not in ("created", "checksum")}
        found.pop("README.md", None)
    return found


def check_half(scene: Scene, place: Path, how: str) -> None:
    """What stands under a valid name after a fault must be whole; a manifest says how far the run is, and may differ."""
    if scene.older is not None:
        try:
            DiFA.load(place)
        except DifaError as error:
            scene.lose(f"{how}: no model that loads: {error}")
        return
    for name, content in files_at(place).items():
        if name != "manifest.json" and content != scene.whole.get(name):
            scene.lose(f"{how}: {name} is half-written")


def check_end(scene: Scene, folder: Path, place: Path, how: str) -> None:
    """At the end everything must be there, and nothing else."""
    if timeless(files_at(place)) != timeless(scene.whole):
        scene.lose(f"{how}: the outcome differs")
    if scene.older is not None:
        check_half(scene, place, how)
    left = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.name.startswith(".") or path.parent == folder]
    if left != [place.name]:
        scene.lose(f"{how}: left behind: {', '.join(sorted(set(left) - {place.name}))}")


def inject(scene: Scene, draw: random.Random, most: int) -> None:
    """One to three faults in a row, and then the end of the work."""
    with tempfile.TemporaryDirectory(prefix="difa-faults-") as name:
        folder = Path(name)
        place = folder / "out"
        if scene.older is not None:
            scene.older(place)
        for _ in range(draw.randint(1, min(3, most))):
            kind = draw.choices(("kill at a change", "kill at a moment", "full disk"), (6, 2, 2))[0]
            before = {
                "kill at a change": kill_before(draw.randint(1, 25)),
                "kill at a moment": kill_after(draw.uniform(0.0, 0.2)),
                "full disk": small_files(draw.choice((1, 1000, 20_000, 60_000))),
            }[kind]
            code = in_child(lambda: scene.run(place), before)
            scene.injected[kind] += code != 0  # one that came too late to harm the work is none
            if code == TRACE:
                scene.lose(f"{kind}: a trace instead of a line")
            check_half(scene, place, kind)
        if in_child(lambda: scene.run(place)) != 0:
            scene.lose(f"{kind}: cannot go on")
        check_end(scene, folder, place, kind)


def inject_others(scene: Scene) -> None:
    """Signals all the time, and a folder that is closed."""
    with tempfile.TemporaryDirectory(prefix="difa-faults-") as name:
        folder = Path(name)
        if in_child(lambda: scene.run(folder / "out"), rain_of_signals) != 0:
            scene.lose("signals: the run ended")
        scene.injected["signals"] += 1
        check_end(scene, folder, folder / "out", "signals")
    with tempfile.TemporaryDirectory(prefix="difa-faults-") as name:
        folder = Path(name) / "closed"
        folder.mkdir()
        Path(name).chmod(0o755)
        folder.chmod(0o555)
        if (code := in_child(lambda: scene.run(folder / "out"), give_up_rights)) != REFUSED:
            scene.lose(f"closed folder: expected to be refused in one line, got exit code {code}")
        scene.injected["closed folder"] += 1
        if list(folder.iterdir()):
            scene.lose("closed folder: something is there")
        folder.chmod(0o755)


def scenes(model: Path, source: Path, normal: list[str], only: str) -> list[Scene]:
    """The work that is put to the test, with what it leaves without faults."""
    detector = DiFA.load(model, threads=1)

    def score(**options: object) -> Run:
        return lambda place: score_inputs(detector, Job(model, [str(source)], place, resume=True, **options), Silent())  # type: ignore[arg-type]

    def fit(place: Path) -> None:
        DiFA("fast", seed=1, threads=1).fit(normal[:60]).save(place)

    def update(place: Path) -> None:
        DiFA.load(model, threads=1).update(normal[100:120]).save(place)

    found = [
        Scene("score, file", score()),
        Scene("score, shards", score(shard_size=70)),
        Scene("score, fdr", score(fdr=0.3)),
        Scene("score, fdr, shards", score(fdr=0.3, shard_size=70)),
        Scene("score, csv", score(format="csv")),
        Scene("save", lambda place: detector.save(place), older=lambda place: detector.save(place)),
        Scene("update", update, older=lambda place: detector.save(place)),
        Scene("fit", fit, older=lambda place: shutil.copytree(model, place)),
    ]
    found = [scene for scene in found if only in scene.name]
    for scene in found:
        with tempfile.TemporaryDirectory(prefix="difa-faults-") as name:
            if in_child(lambda scene=scene, name=name: scene.run(Path(name) / "out")) != 0:
                sys.exit(f"{scene.name}: fails without any fault")
            scene.whole = files_at(Path(name) / "out")
    return found


@contextmanager
def prepared(draw: random.Random, only: str = "") -> Iterator[list[Scene]]:
    """The scenes whose name holds a word, with a model and documents for them."""
    chunks.MOST_DOCUMENTS = 3  # eight times as many without an encoder
    normal = CORPUS.read_text(encoding="utf-8").splitlines()
    with tempfile.TemporaryDirectory(prefix="difa-faults-") as name:
        Path(name).chmod(0o755)
        model, source = Path(name) / "model", Path(name) / "in.txt"
        source.write_text("\n".join(f"{draw.choice(normal)} {number}" for number in range(300)), encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            DiFA("fast", seed=1, fpr=0.05).fit(normal[:80]).save(model)
        yield scenes(model, source, normal, only)


def pick(draw: random.Random, found: list[Scene]) -> Scene:
    """One of the scenes; fits are slow, and get a twentieth."""
    return draw.choices(found, [{"fit": 1, "update": 3}.get(scene.name, 8) for scene in found])[0]


def campaign(faults: int, seed: int, only: str = "") -> list[Scene]:
    """So many faults, spread over all scenes."""
    draw = random.Random(seed)
    with prepared(draw, only) as found:
        for scene in found:
            if scene.name.startswith("score"):
                inject_others(scene)
        while (left := faults - injected(found)) > 0:
            inject(pick(draw, found), draw, left)
    return found


def injected(found: list[Scene]) -> int:
    """All faults so far."""
    return sum(scene.injected.total() for scene in found)


def tell(found: list[Scene], seed: int, started: float) -> int:
    """Print the table of a campaign; 1 if anything was lost."""
    kinds = sorted({kind for scene in found for kind in scene.injected})
    print("| work |", " | ".join(kinds), "| losses |")
    print("|---|", "---:|" * (len(kinds) + 1), sep="")
    for scene in found:
        print("|", " | ".join([scene.name, *(str(scene.injected[kind]) for kind in kinds), str(len(scene.losses))]), "|")
    losses = [loss for scene in found for loss in scene.losses]
    print(f"\n{injected(found)} faults, {len(losses)} losses, seed {seed}, {time.monotonic() - started:.0f} s")
    print(*losses, sep="\n", file=sys.stderr)
    return 1 if losses else 0


def main() -> int:
    """Run the campaign, print its table, and return 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--faults", type=int, default=500, help="faults to inject")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="scenes whose name holds this")
    options = parser.parse_args()
    started = time.monotonic()
    return tell(campaign(options.faults, options.seed, options.only), options.seed, started)


if __name__ == "__main__":
    sys.exit(main())
