"""A model for other programs: `difa serve` over HTTP, with a page for people; `difa mcp` for assistants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from difa.cli.options import ModelFolder, Threads, command, say
from difa.serve.settings import Settings


@dataclass(frozen=True)
class ServeOptions(Settings):
    """The settings that are options of the command."""

    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 listens on all addresses of this machine.")] = (
        Settings.host
    )
    port: Annotated[int, typer.Option(help="Port to listen on; 0 chooses a free one.")] = Settings.port
    api_key: Annotated[
        str | None,
        typer.Option(envvar="DIFA_API_KEY", help="Key that every /v1 request must send; safer in the variable DIFA_API_KEY."),
    ] = None
    batch_words: Annotated[int, typer.Option(help="Maximum words in a batch; a long or odd word counts as several.")] = (
        Settings.batch_words
    )
    batch_documents: Annotated[int, typer.Option(help="Maximum documents in a batch; 1 turns micro-batching off.")] = (
        Settings.batch_documents
    )
    batch_wait: Annotated[float, typer.Option(help="Seconds that an idle service waits for more documents.")] = (
        Settings.batch_wait
    )
    queue: Annotated[int, typer.Option(help="Maximum requests queued or running; further ones get 429.")] = Settings.queue
    timeout: Annotated[float, typer.Option(help="Maximum seconds for one request.")] = Settings.timeout
    max_body: Annotated[int, typer.Option(help="Maximum bytes of a request.")] = Settings.max_body
    max_texts: Annotated[int, typer.Option(help="Maximum documents of a request.")] = Settings.max_texts
    max_characters: Annotated[int, typer.Option(help="Maximum characters of a document.")] = Settings.max_characters
    max_words: Annotated[int, typer.Option(help="Maximum words of a document; a long or odd word counts as several.")] = (
        Settings.max_words
    )
    verdicts: Annotated[
        Path | None,
        typer.Option(help="File that people's verdicts are appended to, as JSON lines. Default: the page alone keeps them."),
    ] = None


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
    settings: ServeOptions,
    threads: Threads = None,
) -> None:
    """Serve models over HTTP, with a page at the same address."""
    from difa.errors import MissingExtraError

    try:
        from difa.serve import server
    except ImportError as error:
        raise MissingExtraError(error.name or "fastapi", "serve", "serving") from None
    if not settings.is_loopback and settings.api_key is None:
        say(f"difa: warning: anyone who reaches {settings.host} can use this service: give an --api-key, or listen on 127.0.0.1")
    server.serve(models, settings, threads, say)


@command("difa mcp model")
def mcp(model: ModelFolder, threads: Threads = None) -> None:
    """Serve a model to assistants over the Model Context Protocol (stdin and stdout, local only)."""
    from difa.estimator import DiFA
    from difa.integrations.mcp import make_server

    make_server(DiFA.load(model, threads=threads)).run("stdio")
