"""An MCP server: tools with which assistants check a text and explain a word.

It speaks on standard input and output, to the program that started it, and nowhere else.
"""

from __future__ import annotations

from typing import Any

from difa import __version__
from difa.document import Explanation
from difa.errors import DifaError, MissingExtraError
from difa.estimator import DiFA
from difa.report.sentences import explain_sentence, unusual_words, word_sentence

MOST_CHARACTERS = 100_000
_INSTRUCTIONS = (
    "Finds words and documents that do not belong among the normal texts that a model was fitted on. check_text says what is "
    "unusual about a text, explain_word why a word of it is. Unusual does not mean wrong."
)


def make_server(model: DiFA) -> Any:
    """The server, ready to run."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError  # the assistant gets to see its line
    except ImportError:
        raise MissingExtraError("mcp", "mcp", "difa mcp") from None

    def explain(text: str, fpr: float | None = None) -> Explanation:
        if len(text) > MOST_CHARACTERS:
            raise ToolError(f"expected at most {MOST_CHARACTERS} characters, got {len(text)}: check it in parts")
        try:
            return model.explain(text, fpr=fpr)
        except DifaError as error:
            raise ToolError(str(error)) from None

    def check_text(text: str, fpr: float | None = None) -> dict[str, Any]:
        """Say whether a text, and which of its words, do not belong among normal texts.

        fpr is the share of normal texts that may be flagged; without it, the model's own.
        """
        explained = explain(text, fpr)
        result = explained.result
        verdict = {"is_flagged": result.is_anomaly, "p_value": result.p_value, "rule": explained.rule, "rate": explained.rate}
        places = [(result.words[t], t) for t in unusual_words(result, 50)]
        words = [{"text": word.text, "start": word.start, "end": word.end, **_judged(explained, t)} for word, t in places]
        return {"sentence": explain_sentence(explained), **verdict, "unusual_words": words}

    def explain_word(text: str, word: str) -> dict[str, Any]:
        """Say in plain words, and by the evidence of each view, why a word that stands in the text is unusual."""
        explained = explain(text)
        words = explained.result.words
        positions = [t for t, scored in enumerate(words) if scored.text.casefold() == word.strip().casefold()]
        if not positions:
            listed = ", ".join(sorted({scored.text for scored in words}))[:500]
            raise ToolError(f"expected a word of the text, got {word!r}: the words are {listed}")
        t = min(positions, key=lambda position: words[position].p_value)
        reasons = {view: [reason.text for reason in found] for view, found in explained.reasons[t].items()}
        return {**_judged(explained, t), "evidence": dict(words[t].evidence), "reasons": reasons}

    server = MCPServer("difa", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")
    server.add_tool(check_text)
    server.add_tool(explain_word)
    return server


def _judged(explained: Explanation, t: int) -> dict[str, Any]:
    word = explained.result.words[t]
    judged = {"p_value": word.p_value, "is_flagged": word.is_anomaly, "suggestion": word.suggestion}
    return {"sentence": word_sentence(word, explained.reasons[t]), **judged}
