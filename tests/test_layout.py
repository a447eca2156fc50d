"""The shape of the package: who may import whom, what is public, what stays unloaded."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import difa
from difa.decide import Cutoff
from difa.engines.cascade import Cascade
from difa.engines.local import Job, Silent, score_inputs
from difa.formats.results import read_results
from difa.monitor.watch import Monitor
from tests.commands import here
from tests.serve.conftest import running

SOURCE = Path(difa.__file__).parent
ORDER = [
    "errors", "document", "config", "words", "storage", "knowledge", "runtime", "corpus", "encoders", "perturb",
    "views", "calibrate", "head", "fuse", "paper", "document_score", "feed", "detector", "fitting",
    "decide", "storage.persist", "estimator", "formats", "engines", "report",
    "monitor", "integrations", "baselines", "bench", "serve", "cli", "__main__",
]  # fmt: skip


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_of(path):
    tree = tree_of(path)
    top_level = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    for node in top_level:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        if isinstance(node, ast.ImportFrom) and node.module == "difa":
            names = [f"difa.{alias.name}" for alias in node.names if f"{alias.name}" in ORDER]
        yield from (place_of(name.split(".")[1:]) for name in names if name.startswith("difa."))


def place_of(module):
    """The position of a module in the order: its own, or that of its package."""
    own = ".".join(module[:2])
    return ORDER.index(own if own in ORDER else module[0])


def files():
    return [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


def test_imports_point_up_the_list():
    for path in files():
        own = place_of(path.relative_to(SOURCE).with_suffix("").parts)
        for imported in imports_of(path):
            assert imported <= own, f"{path} imports difa.{ORDER[imported]}"


def test_public_names():
    assert difa.__all__ == ["Config", "DiFA", "DifaError", "Document", "Result", "Word", "WordScore", "__version__"]
    assert all(getattr(difa, name) is not None for name in difa.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Detector'"):
        _ = difa.Detector


def loaded_after(code):
    command = f"import sys; {code}; print(' '.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout.split())


def test_importing_difa_loads_next_to_nothing():
    heavy = {"numpy", "onnxruntime", "torch", "transformers", "rich", "typer"}
    assert not heavy & loaded_after("import difa")


def test_the_command_line_loads_no_server():
    assert not {"fastapi", "uvicorn", "pydantic", "numpy", "onnxruntime"} & loaded_after("import difa.cli")


def test_scoring_never_loads_the_training_frameworks(quick_model, tmp_path):
    quick_model.save(tmp_path / "model")
    code = f"from difa import DiFA; DiFA.load({str(tmp_path / 'model')!r}).explain('Where is my order?')"
    loaded = loaded_after(code)
    assert "onnxruntime" in loaded
    assert not {"torch", "transformers", "sentence_transformers", "sklearn", "onnx"} & loaded


def calls(path):
    """Every call in a file, with the name that is called."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call):
            yield (node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")), node


def entrances(model, folder):
    """Whether an odd text is flagged, by every entrance that flags in this process."""
    text, rate = "Is the wpdlkrt zxqvvb bench in stock?", 0.5
    source = folder / "in.txt"
    source.write_text(text)
    model.save(folder / "model")
    yield "score", model.score([text], fpr=rate)[0].is_anomaly
    yield "false-discovery rate", model.score([text], fdr=rate)[0].is_anomaly
    yield "explain", model.explain(text, fpr=rate).result.is_anomaly
    yield "frame", model.score_frame([{"text": text}], fpr=rate)[0]["is_anomaly"]
    yield "cascade", next(iter(Cascade(model, model, 0.6).score([text], fpr=rate))).is_anomaly
    yield "monitor", next(Monitor(model, fpr=rate).score([text])).is_anomaly
    job = Job(folder / "model", [str(source)], folder / "out", fpr=rate)
    yield "count of a run", score_inputs(model, job, Silent()).flagged > 0
    yield "file of a run", next(read_results([folder / "out"])).is_anomaly
    yield "check", here("check", folder / "model", source, "--per-thousand", 500).returncode == 1
    with running({"m": model}) as client:
        yield "service", client.score(text=text, fpr=rate)[1]["results"][0]["is_anomaly"]


def test_flags_are_set_in_one_place(fast_large, tmp_path, monkeypatch):
    """Whoever scores asks `Cutoff` for flags: without it nobody flags anything."""
    assert {name for name, flagged in entrances(fast_large, tmp_path) if not flagged} == set()
    monkeypatch.setattr(Cutoff, "flag", lambda self, scored: scored)
    assert {name for name, flagged in entrances(fast_large, tmp_path) if flagged} == set()


def texts_in(path):
    """Every string of a file but its docstrings."""
    tree = tree_of(path)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [node.value for node in strings if id(node) not in prose]


def test_messages_of_the_library_name_no_flags_of_the_command_line():
    for path in files():
        if path.relative_to(SOURCE).parts[0] == "cli" or "speed" in path.name:  # which starts the command line itself
            continue
        others = re.compile(r"(pip install|ray start) --[\w-]+|^git .*")
        flags = [text for text in texts_in(path) if re.search(r"(?<!\w)--[a-z]", others.sub("", text))]
        assert not flags, path


def test_the_library_has_no_asserts_and_no_prints():
    for path in files():
        tree = tree_of(path)
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree)), path
        if path.relative_to(SOURCE).parts[0] != "cli":
            assert "print" not in [name for name, node in calls(path) if isinstance(node.func, ast.Name)], path


MOST_FILE, MOST_FUNCTION = 500, 50


def test_files_and_functions_stay_short():
    """Of a command only the body counts: its signature is the table of its options."""
    tests = Path(__file__).parent
    for path in [*files(), SOURCE / "__init__.py", *sorted(tests.rglob("*.py"))]:
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= MOST_FILE, f"{path}: more than {MOST_FILE} lines"
        for node in ast.walk(tree_of(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = node.body[0] if path.parent == SOURCE / "cli" else node
                assert node.end_lineno - first.lineno < MOST_FUNCTION, f"{path}: {node.name}: more than {MOST_FUNCTION} lines"


def test_contributing_lists_every_module_in_order():
    layout = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("src/difa/")[2]
    listed = re.findall(r"^  (\w+)(?:\.py|/) ", layout.partition("```")[0], re.MULTILINE)
    assert listed == [name for name in ORDER[:-1] if "." not in name]  # `__main__` starts the command line
