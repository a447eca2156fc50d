"""All results of new text, and what it taught -> a few sentences about the text as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from difa.document import Result


def overview(results: Sequence[Result], rate: float, learned: Sequence[str]) -> str:
    """How many documents are flagged, beside how many chance would flag, and what is unusual about all of them.

    Args:
        results: of all new documents, flagged.
        rate: false-alarm rate by which they were.
        learned: what the new text taught, one sentence each.
    """
    flagged, documents = sum(result.is_anomaly for result in results), len(results)
    chance = rate * documents
    by_chance = "fewer than one" if chance < 1 else f"about {chance:.0f}"
    verb = "is" if flagged == 1 else "are"
    counted = f"{flagged:,} of {documents:,} documents {verb} flagged"  # how many of them do not belong, chance leaves open
    return " ".join([f"{counted} (normal text would have {by_chance}, at a false-alarm rate of {100 * rate:g} %).", *learned])
