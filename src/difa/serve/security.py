"""Who may ask, and what browsers may do with the answers: one plain ASGI layer around the routes.

It also counts every request, refusals and failures included. Bodies never pass through here, nor into the log.
"""

from __future__ import annotations

import hmac
import logging
import re
import time
import traceback
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from difa.serve.body import Refusal
from difa.serve.counters import Counters
from difa.serve.settings import Settings

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_LOCAL = re.compile(r"(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?", re.IGNORECASE)
_NO_RANGE = b'{"error":"expected a range within the file, such as bytes=0-99, got another one: leave the header Range out"}'
_log = logging.getLogger("difa.serve")
_V1 = ("/v1/score", "/v1/tables", "/v1/verdicts", "/v1/models")
_ROUTES = (*_V1, "/health/live", "/health/ready", "/metrics", "/openapi.json", "/")


class Guard:
    """Asks for the key on every /v1 route, turns requests away while the queue is full, adds the headers, counts."""

    def __init__(self, app: ASGIApp, *, settings: Settings, counters: Counters, refusal: Callable[[str], Refusal | None]) -> None:
        self._app, self._counters, self._refusal = app, counters, refusal
        self._asks_host = settings.is_loopback and settings.api_key is None
        self._key = None if settings.api_key is None else settings.api_key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status, replaced = 0, b""

        async def send_guarded(message: Message) -> None:
            nonlocal status, replaced
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                if status >= 400 and headers.get("content-type", "").startswith("text/plain"):  # of Starlette's files
                    replaced = _NO_RANGE
                    headers["content-type"], headers["content-length"] = "application/json", str(len(replaced))
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            elif replaced:
                message = {**message, "body": replaced}
            await send(message)

        path = scope["path"]
        try:
            # A service that has too much to do must not spend much on saying so: before routing, reading and parsing.
            headers = Headers(scope=scope)
            refusal = self._check_host(headers) or self._check_key(path, headers) or self._refusal(path)
            app = JSONResponse({"error": refusal.detail}, refusal.status_code, refusal.headers) if refusal else self._app
            await app(scope, receive, send_guarded)
        except Exception as error:
            # Where and what kind, but not the message: it may quote the text.
            place = traceback.extract_tb(error.__traceback__)[-1]
            _log.error("%s at %s:%s", type(error).__name__, place.filename, place.lineno)
            if not status:
                line = "the service failed on this request, and has logged where"
                await JSONResponse({"error": line}, 500)(scope, receive, send_guarded)
        finally:
            route = path if path in _ROUTES else "/static" if path.startswith("/static/") else "other"
            self._counters.observe_request(route, status, time.perf_counter() - started)

    def _check_host(self, headers: Headers) -> Refusal | None:
        """Of a service for this machine alone: a page from elsewhere must not reach it by a name that leads here."""
        host = headers.get("host", "localhost")
        if not self._asks_host or _LOCAL.fullmatch(host):
            return None
        line = f"expected a request to localhost or 127.0.0.1, got the host {host[:100]!r}: set an API key to allow other names"
        return Refusal(421, line, {"Connection": "close"})

    def _check_key(self, path: str, headers: Headers) -> Refusal | None:
        if self._key is None or not (path == "/v1" or path.startswith("/v1/")):
            return None
        given = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        if hmac.compare_digest(given.encode("latin-1", "replace"), self._key):
            return None
        line = "expected a valid key in the header X-API-Key or Authorization: Bearer, got none or another one"
        return Refusal(401, line, {"WWW-Authenticate": "Bearer", "Connection": "close"})
