"""What the OpenAPI document says beyond the shapes of bodies: refusals, their headers, the key, and files as bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI

from difa.serve.schemas import EXAMPLES, Problem, ScoreRequest
from difa.serve.verdicts import EXAMPLES as VERDICT_EXAMPLES
from difa.serve.verdicts import Verdict

_LATER = {
    "Retry-After": {"description": "Seconds after which to come again.", "schema": {"type": "string", "pattern": "^[0-9]+$"}}
}
_REFUSALS: dict[int, str] = {
    400: "Not HTTP, or not strict JSON in UTF-8",
    401: "The key is missing or wrong",
    404: "No model of that name, or no file for verdicts",
    408: "The request came too slowly",
    413: "The body, a list in it, or a document is too large",
    415: "Not the content type that is asked for",
    421: "Not a name of this machine: a service without a key answers to localhost alone",
    422: "Not a request as described; or a single document, or a file, that cannot be read",
    429: "The queue is full, or too much is being read; Retry-After says when to come again",
    431: "The address and the headers are too long",
    500: "The service failed on this request, and has logged where",
    503: "The service is shutting down, or cannot write",
    504: "It took too long",
}
_KEYS = {
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "bearer": {"type": "http", "scheme": "bearer"},
}
_FILE = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    },
    "parameters": [
        {
            "name": "name",
            "in": "query",
            "required": True,
            "description": "The file's name: its ending says what it holds.",
            "schema": {"type": "string", "minLength": 1},
        },
        {"name": "text_column", "in": "query", "description": "Of a table; guessed without it.", "schema": {"type": "string"}},
        {"name": "id_column", "in": "query", "description": "Of a table; `id` without it.", "schema": {"type": "string"}},
    ],
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route may answer beside 200."""
    found: dict[int | str, dict[str, Any]] = {}
    for status in sorted({*statuses, 400, 431, 500}):
        found[status] = {"model": Problem, "description": _REFUSALS[status]}
        if status in (429, 503, 504):
            found[status]["headers"] = _LATER
    return found


def score_body() -> dict[str, Any]:
    """The body of a request for scores."""
    content = {"schema": ScoreRequest.model_json_schema(), "examples": EXAMPLES}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def verdict_body() -> dict[str, Any]:
    """The body of a request with a verdict."""
    content = {"schema": Verdict.model_json_schema(), "examples": VERDICT_EXAMPLES}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def file_body() -> dict[str, Any]:
    """The body of a request with a file, and what is said of it."""
    return dict(_FILE)


def describe_keys(app: FastAPI, paths: Sequence[str]) -> None:
    """Say that these paths ask for a key."""
    plain = app.openapi

    def with_keys() -> dict[str, Any]:
        document = plain()
        document["components"]["securitySchemes"] = _KEYS
        for path in paths:
            for operation in document["paths"][path].values():
                operation["security"] = [{name: []} for name in _KEYS]
        return document

    app.openapi = with_keys  # type: ignore[method-assign]
