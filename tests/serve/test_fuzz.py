"""Some dozens of made-up requests to every route, and hundreds of damaged ones; `tools/fuzz_http.py` makes any number."""

import pytest

from tests.serve.conftest import running
from tools.fuzz_http import fuzz_bytes, fuzz_operations

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def plain(quick_model, tmp_path_factory):
    with running({"m": quick_model}, verdicts=tmp_path_factory.mktemp("fuzz") / "verdicts.jsonl") as client:
        yield client


@pytest.mark.filterwarnings("ignore")  # of the tool itself
def test_every_answer_is_as_the_openapi_document_says(plain):
    statuses = fuzz_operations(plain.url, examples=12, seed=1)
    assert statuses[200] > 10
    assert statuses[422] > 0


def test_damaged_requests_get_an_error_or_an_end(plain):
    statuses = fuzz_bytes(plain.port, count=150, seed=1)
    assert statuses[400] > 50
