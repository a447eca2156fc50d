"""What a request can be refused with: a status, one clear line, and headers."""

from __future__ import annotations

from collections.abc import Mapping


class Refusal(Exception):
    """Ends a request with a status of 4xx or 5xx and a body of {"error": line}."""

    def __init__(self, status: int, line: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(line)
        self.status, self.line, self.headers = status, line, dict(headers or {})
