"""`difa mcp`: a model as tools for assistants, on standard input and output."""

from __future__ import annotations

from difa.cli.options import ModelFolder, Threads

EXAMPLES = """Examples:

difa mcp model
"""


def mcp(model: ModelFolder, threads: Threads = None) -> None:
    """Serve a model to assistants over the Model Context Protocol (stdin and stdout, local only)."""
    from difa.estimator import DiFA
    from difa.integrations.mcp import make_server

    make_server(DiFA.load(model, threads=threads)).run("stdio")
