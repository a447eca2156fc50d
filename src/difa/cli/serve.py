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

curl -s localhost:8000/v1/score -H 'Content-Type: application/json' -d '{"text": "some text"}'
"""


def serve(
    models: Annotated[
        list[Path], typer.Argument(help="Model folders; the name of a folder is its model's name.", metavar="MODEL...")
    ],
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 is every one that this machine has.")] = Settings.host,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = Settings.port,
    api_key: Annotated[
        str | None,
        typer.Option(envvar="DIFA_API_KEY", help="Key that every /v1 request must bring; better given by DIFA_API_KEY."),
    ] = None,
    batch_words: Annotated[
        int, typer.Option(help="Words that share a batch; a long or odd one counts as several.")
    ] = Settings.batch_words,
    batch_documents: Annotated[
        int, typer.Option(help="Documents that share a batch; 1 turns micro-batching off.")
    ] = Settings.batch_documents,
    batch_wait: Annotated[float, typer.Option(help="Seconds that an idle service waits for company.")] = Settings.batch_wait,
    queue: Annotated[int, typer.Option(help="Requests that may wait or be under way; more get 429 at once.")] = Settings.queue,
    timeout: Annotated[float, typer.Option(help="Seconds that a request may take.")] = Settings.timeout,
    max_body: Annotated[int, typer.Option(help="Bytes that a request may have.")] = Settings.max_body,
    max_texts: Annotated[int, typer.Option(help="Documents that a request may have.")] = Settings.max_texts,
    max_characters: Annotated[int, typer.Option(help="Characters that a document may have.")] = Settings.max_characters,
    max_words: Annotated[
        int, typer.Option(help="Words that a document may have; a long or odd one counts as several.")
    ] = Settings.max_words,
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
    )
    if not settings.is_loopback and api_key is None:
        say(f"difa: warning: anyone who reaches {host} can use this service: give an --api-key, or listen on 127.0.0.1")
    server.serve(models, settings, threads, say)
