"""`difa serve`: models behind an HTTP address, and a page for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from difa.cli.options import Threads, say
from difa.serve.settings import Settings

EXAMPLES = """Examples:

difa serve model

difa serve model other-model --host 0.0.0.0 --port 80 --api-key "$KEY"

difa serve model --verdicts verdicts.jsonl

curl -s localhost:8000/v1/score -H 'Content-Type: application/json' -d '{"text": "some text"}'
"""


def serve(
    models: Annotated[
        list[Path], typer.Argument(help="Model folders; the name of a folder is its model's name.", metavar="MODEL...")
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 listens on all addresses of this machine.")
    ] = Settings.host,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 chooses a free one.")] = Settings.port,
    api_key: Annotated[
        str | None,
        typer.Option(envvar="DIFA_API_KEY", help="Key that every /v1 request must send; safer in the variable DIFA_API_KEY."),
    ] = None,
    batch_words: Annotated[
        int, typer.Option(help="Maximum words in a batch; a long or odd word counts as several.")
    ] = Settings.batch_words,
    batch_documents: Annotated[
        int, typer.Option(help="Maximum documents in a batch; 1 turns micro-batching off.")
    ] = Settings.batch_documents,
    batch_wait: Annotated[
        float, typer.Option(help="Seconds that an idle service waits for more documents.")
    ] = Settings.batch_wait,
    queue: Annotated[int, typer.Option(help="Maximum requests queued or running; further ones get 429.")] = Settings.queue,
    timeout: Annotated[float, typer.Option(help="Maximum seconds for one request.")] = Settings.timeout,
    max_body: Annotated[int, typer.Option(help="Maximum bytes of a request.")] = Settings.max_body,
    max_texts: Annotated[int, typer.Option(help="Maximum documents of a request.")] = Settings.max_texts,
    max_characters: Annotated[int, typer.Option(help="Maximum characters of a document.")] = Settings.max_characters,
    max_words: Annotated[
        int, typer.Option(help="Maximum words of a document; a long or odd word counts as several.")
    ] = Settings.max_words,
    verdicts: Annotated[
        Path | None,
        typer.Option(help="File that people's verdicts are appended to, as JSON lines. Default: the page alone keeps them."),
    ] = None,
    threads: Threads = None,
) -> None:
    """Serve models over HTTP, with a page at the same address."""
    from difa.errors import MissingExtraError

    try:
        from difa.serve import server
    except ImportError as error:
        raise MissingExtraError(error.name or "fastapi", "serve", "serving") from None
    settings = Settings(
        host=host,
        port=port,
        api_key=api_key,
        batch_words=batch_words,
        batch_documents=batch_documents,
        batch_wait=batch_wait,
        queue=queue,
        timeout=timeout,
        max_body=max_body,
        max_texts=max_texts,
        max_characters=max_characters,
        max_words=max_words,
        verdicts=verdicts,
    )
    if not settings.is_loopback and api_key is None:
        say(f"difa: warning: anyone who reaches {host} can use this service: give an --api-key, or listen on 127.0.0.1")
    server.serve(models, settings, threads, say)
