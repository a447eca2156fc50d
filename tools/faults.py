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
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from difa import DiFA
from difa import prefetch as chunks
from difa.engines import output
from difa.engines.local import Job, Silent, score_inputs
from difa.errors import DifaError

ROOT = Path(__file__).parent.parent
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.truncate", "os.rmdir")
REFUSED, TRACE = 2, 3
NOBODY = 65534
Run = Callable[[Path], object]
"""Does the work, or goes on with it, with results at a place."""


def in_child(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> int:
    """Do something in a process of its own; its exit code, or the signal that ended it, below zero."""
    child = os.fork()
    if not child:
        code = TRACE
        try:
            warnings.simplefilter("ignore")
            output._FIRST_NOTE, output._NOTE_SHARE = 0.0, 1  # a run is noted as often as it can be
            before()
            work()
            code = 0
        except DifaError:
            code = REFUSED
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_before(change: int) -> Callable[[], None]:
    """Let this process die before its n-th change of the disk: a file opened for writing, renamed, cut or removed."""

    def install() -> None:
        count = 0

        def watch(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal count
            writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if writes or event in CHANGES:
                count += 1
                if count >= change:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)

    return install


def kill_after(seconds: float) -> Callable[[], None]:
    """Let this process die in a while, wherever it is then."""

    def install() -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    return install


def small_files(size: int) -> Callable[[], None]:
    """Let no file grow beyond so many bytes, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def rain_of_signals() -> None:
    """Interrupt system calls a thousand times a second."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)


def give_up_rights() -> None:
    """What is closed to others is closed to this process, too."""
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)


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
    return {str(path.relative_to(place)): path.read_bytes() for path in found if path.is_file() and not path.name.startswith(".")}


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


def campaign(faults: int, seed: int, only: str = "") -> list[Scene]:
    """So many faults, spread over all scenes; fits are slow, and get a twentieth."""
    chunks.MOST_DOCUMENTS = 20
    draw, normal = random.Random(seed), (ROOT / "examples/support/normal.txt").read_text(encoding="utf-8").splitlines()
    with tempfile.TemporaryDirectory(prefix="difa-faults-") as name:
        Path(name).chmod(0o755)
        model, source = Path(name) / "model", Path(name) / "in.txt"
        source.write_text("\n".join(f"{draw.choice(normal)} {number}" for number in range(300)), encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            DiFA("fast", seed=1, fpr=0.05).fit(normal[:80]).save(model)
        found = scenes(model, source, normal, only)
        for scene in found:
            if scene.name.startswith("score"):
                inject_others(scene)
        weights = [{"fit": 1, "update": 3}.get(scene.name, 8) for scene in found]
        while (left := faults - sum(sum(scene.injected.values()) for scene in found)) > 0:
            inject(draw.choices(found, weights)[0], draw, left)
    return found


def main() -> int:
    """Run the campaign, print its table, and return 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--faults", type=int, default=500, help="faults to inject")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="scenes whose name holds this")
    options = parser.parse_args()
    started = time.monotonic()
    found = campaign(options.faults, options.seed, options.only)
    kinds = sorted({kind for scene in found for kind in scene.injected})
    print("| work |", " | ".join(kinds), "| losses |")
    print("|---|", "---:|" * (len(kinds) + 1), sep="")
    for scene in found:
        print("|", " | ".join([scene.name, *(str(scene.injected[kind]) for kind in kinds), str(len(scene.losses))]), "|")
    total = sum(sum(scene.injected.values()) for scene in found)
    losses = [loss for scene in found for loss in scene.losses]
    print(f"\n{total} faults, {len(losses)} losses, seed {options.seed}, {time.monotonic() - started:.0f} s")
    print(*losses, sep="\n", file=sys.stderr)
    return 1 if losses else 0


if __name__ == "__main__":
    sys.exit(main())
