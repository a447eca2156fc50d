import os

import pytest

from difa.runtime.session import session


def test_the_engine_is_told_not_to_phone_home(monkeypatch):
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    with pytest.raises(Exception, match=r"(?i)model"):
        session(b"no graph")
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
