import os
import subprocess
import sys

import pytest

from difa.runtime import parallel
from difa.runtime.parallel import core_count


@pytest.mark.parametrize(
    ("files", "own", "expected"),
    [
        ({"cpu.max": "max 100000"}, "/", None),
        ({"cpu.max": "150000 100000"}, "/", 2),
        ({"cpu.max": "50000 100000"}, "/", 1),
        ({"a/cpu.max": "400000 100000", "a/b/cpu.max": "max 100000"}, "/a/b", 4),
        ({"a/cpu.max": "200000 100000", "a/b/cpu.max": "300000 100000"}, "/a/b", 2),
        ({}, "/gone", None),
    ],
)
def test_the_tightest_quota_of_the_control_groups(tmp_path, files, own, expected):
    groups = tmp_path / "groups"
    for name, content in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(content + "\n")
    membership = tmp_path / "cgroup"
    membership.write_text(f"1:name=old:/x\n0::{own}\n")
    assert parallel.group_quota(groups, membership) == expected


def test_the_usual_variable_is_honoured_up_to_the_cores_there_are(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = core_count()
    for value, expected in (("1", 1), ("1,2", 1), ("10000", cores), ("0", cores), ("many", cores)):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert core_count() == expected


def test_cores_that_the_process_is_bound_to():
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
    code += "from difa.runtime.parallel import core_count; print(core_count())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "1"


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
def test_scoring_keeps_to_its_threads(quick_model, tmp_path):
    quick_model.save(tmp_path / "model")
    code = f"""
import os
os.environ.pop("OPENBLAS_NUM_THREADS", None)
import numpy, onnxruntime
from difa import DiFA
before = len(os.listdir("/proc/self/task"))
DiFA.load({str(tmp_path / "model")!r}, threads=1).score(["Where is my order?", "And where is the other one?"] * 20)
print(len(os.listdir("/proc/self/task")) - before)
"""
    environment = {key: value for key, value in os.environ.items() if key != "RAYON_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert int(done.stdout) <= 1  # the tokenizer's one
