"""The documentation builds without a warning, and its pages fetch nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import HANG

ROOT = Path(__file__).parents[2]
FETCHED = re.compile(r"<(?:script|img|iframe|link rel=\"stylesheet\")[^>]*(?:src|href)=\"?(?:https?:)?//[^\">\s]+")


@pytest.mark.slow
def test_the_site_builds_strictly_and_offline(tmp_path):
    pytest.importorskip("material", reason="the extra docs is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG, env=environment)
    assert built.returncode == 0, built.stderr
    pages = {page.stem: page.read_text(encoding="utf-8") for page in tmp_path.glob("*.html")}
    assert {"index", "quickstart", "reference", "tutorial"} <= pages.keys()
    assert not [found for page in pages.values() for found in FETCHED.findall(page)]
    assert "score_frame" in pages["reference"]
