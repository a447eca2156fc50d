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
    except ImportError:
        raise MissingExtraError("mcp", "mcp", "difa mcp") from None
    server = MCPServer("difa", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")

    def check_text(text: str, fpr: float | None = None) -> dict[str, Any]:
        """Say whether a text, and which of its words, do not belong among normal texts.

        fpr is the share of normal texts that may be flagged; without it, the model's own.
        """
        return _checked(_explain(model, text, fpr))

    def explain_word(text: str, word: str) -> dict[str, Any]:
        """Say in plain words, and by the evidence of each view, why a word that stands in the text is unusual."""
        return _explained(_explain(model, text, None), word)

    server.add_tool(check_text)
    server.add_tool(explain_word)
    return server


def _explain(model: DiFA, text: str, fpr: float | None) -> Explanation:
    if len(text) > MOST_CHARACTERS:
        raise _refusal(f"expected at most {MOST_CHARACTERS} characters, got {len(text)}: check it in parts")
    try:
        return model.explain(text, fpr=fpr)
    except DifaError as error:
        raise _refusal(str(error)) from None


def _checked(explained: Explanation) -> dict[str, Any]:
    result = explained.result
    words = [
        {"text": word.text, "start": word.start, "end": word.end, **_judged(explained, t)}
        for t, word in ((t, result.words[t]) for t in unusual_words(result, 50))
    ]
    verdict = {"is_flagged": result.is_anomaly, "p_value": result.p_value, "rule": explained.rule, "rate": explained.rate}
    return {"sentence": explain_sentence(explained), **verdict, "unusual_words": words}


def _explained(explained: Explanation, word: str) -> dict[str, Any]:
    words = explained.result.words
    positions = [t for t, scored in enumerate(words) if scored.text.casefold() == word.strip().casefold()]
    if not positions:
        raise _refusal(
            f"expected a word of the text, got {word!r}: the words are {', '.join(sorted({w.text for w in words}))[:500]}"
        )
    t = min(positions, key=lambda position: words[position].p_value)
    reasons = {view: [reason.text for reason in found] for view, found in explained.reasons[t].items()}
    return {**_judged(explained, t), "evidence": dict(words[t].evidence), "reasons": reasons}


def _judged(explained: Explanation, t: int) -> dict[str, Any]:
    word = explained.result.words[t]
    judged = {"p_value": word.p_value, "is_flagged": word.is_anomaly, "suggestion": word.suggestion}
    return {"sentence": word_sentence(word, explained.reasons[t]), **judged}


def _refusal(line: str) -> Exception:
    """An error whose line the assistant gets to see."""
    from mcp.server.mcpserver.exceptions import ToolError

    error: Exception = ToolError(line)
    return error
