"""The shape of the package: who may import whom, what is public, what stays unloaded."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import difa

SOURCE = Path(difa.__file__).parent
ORDER = [
    "errors", "document", "config", "words", "sample", "ahead", "knowledge", "encoders", "perturb", "views", "calibrate",
    "trim", "fuse", "aggregate", "document_score", "learn", "detector", "fitting", "decide", "persist", "estimator",
    "evaluate", "formats", "engines", "report", "integrations", "baselines", "bench", "serve", "cli", "__main__",
]  # fmt: skip


def imports_of(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top_level = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    for node in top_level:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        if isinstance(node, ast.ImportFrom) and node.module == "difa":
            names = [f"difa.{alias.name}" for alias in node.names if f"{alias.name}" in ORDER]
        yield from (name.split(".")[1] for name in names if name.startswith("difa."))


def files():
    return [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


def test_imports_point_up_the_list():
    for path in files():
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        assert part in ORDER, f"{path} has no place in the order"
        for imported in imports_of(path):
            assert ORDER.index(imported) <= ORDER.index(part), f"{path} imports difa.{imported}"


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


def test_source_has_no_asserts_and_no_prints_in_the_library():
    for path in files():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree)), path
