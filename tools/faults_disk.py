"""Lets work run into a disk that is full, for real: `python tools/faults_disk.py --faults 60`.

A small file system in memory is mounted where this process alone sees it; most Linux systems let a plain user do that, in a
namespace of their own (`unshare -rm`). It has too little room for the work, or too few inodes. Then it grows, and the same work
goes on. What must hold is what `faults.py` says. Where nothing can be mounted, nothing is tried, and the output says so.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fault_ways import REFUSED, in_child
from faults import Scene, check_end, check_half, injected, pick, prepared, tell

ENOUGH = "size=64m,nr_inodes=1000"
PAGE = 4096
NAMESPACE = ("unshare", "-rm")


def mount(options: str, place: Path) -> None:
    """Mount a file system of these options, or change the one that is there."""
    subprocess.run(command_to_mount(options, place), check=True)


def command_to_mount(options: str, place: Path) -> list[str]:
    """As `mount` wants it."""
    return ["mount", "-t", "tmpfs", "-o", options, "none", str(place)]


def can_mount() -> bool:
    """Whether a process in a namespace of its own may mount; what it mounts goes with it."""
    with tempfile.TemporaryDirectory(prefix="difa-faults-") as name:
        command = [*NAMESPACE, *command_to_mount(ENOUGH, Path(name))]
        try:
            return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0
        except FileNotFoundError:
            return False


@contextmanager
def small_disk() -> Iterator[Path]:
    """A file system of its own, with enough room for now."""
    with tempfile.TemporaryDirectory(prefix="difa-faults-") as name:
        mount(ENOUGH, Path(name))
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", name], check=True)


def room_for(scene: Scene, kind: str, draw: random.Random, folder: Path) -> str:
    """Options that leave a part of the room that the work needs, or not much more than that."""
    there = os.statvfs(folder)
    if kind == "no inodes":
        return f"nr_inodes={there.f_files - there.f_ffree + draw.randint(1, 2 + len(scene.whole))}"
    need = sum(map(len, scene.whole.values()))
    return f"size={(there.f_blocks - there.f_bfree) * there.f_frsize + PAGE * draw.randint(1, 2 + int(1.5 * need / PAGE))}"


def fill(scene: Scene, draw: random.Random) -> None:
    """Let the disk be full once or twice, then go on with enough room."""
    with small_disk() as folder:
        place = folder / "out"
        if scene.older is not None:
            scene.older(place)
        for _ in range(draw.randint(1, 2)):
            kind = draw.choices(("no room", "no inodes"), (3, 1))[0]
            mount(f"remount,{room_for(scene, kind, draw, folder)}", folder)
            code = in_child(lambda: scene.run(place))
            scene.injected[kind] += code != 0  # with room enough there is no fault
            if code not in (0, REFUSED):
                scene.lose(f"{kind}: expected to be refused in one line, got exit code {code}")
            check_half(scene, place, kind)
            mount(f"remount,{ENOUGH}", folder)
        if in_child(lambda: scene.run(place)) != 0:
            scene.lose(f"{kind}: cannot go on")
        check_end(scene, folder, place, kind)


def campaign(faults: int, seed: int, only: str = "") -> list[Scene]:
    """So many faults, in a process that may mount."""
    draw = random.Random(seed)
    with prepared(draw, only) as found:
        while injected(found) < faults:
            fill(pick(draw, found), draw)
    return found


def main() -> int:
    """Run the campaign in a namespace of its own, and return 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--faults", type=int, default=60, help="faults to inject")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="scenes whose name holds this")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)  # it is in its namespace
    options = parser.parse_args()
    if not options.inside and not can_mount():
        print("a disk that is full was not tried: nothing can be mounted here, not even by `unshare -rm`")
        return 0
    if not options.inside:
        return subprocess.run([*NAMESPACE, sys.executable, *sys.argv, "--inside"]).returncode
    started = time.monotonic()
    return tell(campaign(options.faults, options.seed, options.only), options.seed, started)


if __name__ == "__main__":
    sys.exit(main())
