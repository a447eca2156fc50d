"""A model for other programs: `difa serve` over HTTP, with a page for people; `difa mcp` for assistants."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from difa.cli.console import say
from difa.cli.options import ModelFolder, Threads, command
from difa.errors import import_extra
from difa.serve.settings import Settings


@command(
    "difa serve model",
    'difa serve model other-model --host 0.0.0.0 --port 80 --api-key "$KEY"',
    "difa serve model --verdicts verdicts.jsonl",
    "curl -s localhost:8000/v1/score -H 'Content-Type: application/json' -d '{\"text\": \"some text\"}'",
)
def serve(
    models: Annotated[
        list[Path], typer.Argument(help="Model folders; the name of a folder is its model's name.", metavar="MODEL...")
    ],
    settings: Settings,
    threads: Threads = None,
) -> None:
    """Serve models over HTTP, with a page at the same address."""
    server = import_extra("difa.serve.server", "serve", "serving")
    if not settings.is_loopback and settings.api_key is None:
        say(f"difa: warning: anyone who reaches {settings.host} can use this service: give an --api-key, or listen on 127.0.0.1")
    server.serve(models, settings, threads, say)


@command("difa mcp model")
def mcp(model: ModelFolder, threads: Threads = None) -> None:
    """Serve a model to assistants over the Model Context Protocol (stdin and stdout, local only)."""
    from difa.estimator import DiFA
    from difa.integrations.mcp import make_server

    make_server(DiFA.load(model, threads=threads)).run("stdio")
