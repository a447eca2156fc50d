"""An explanation -> the fields of `difa explain --json`."""

from __future__ import annotations

from typing import Any

from difa.document import Explanation
from difa.report.marks import unusual_words
from difa.report.sentences import explain_sentence, word_sentence


def explanation_record(explained: Explanation) -> dict[str, Any]:
    """The result with the rate in force, its sentence, and the sentences and reasons of its unusual words."""
    result = explained.result
    record = result.to_dict()
    for t in unusual_words(result):
        reasons = explained.reasons[t]
        record["words"][t]["sentence"] = word_sentence(result.words[t], reasons)
        record["words"][t]["reasons"] = {
            view: [{"text": reason.text, "weight": reason.weight} for reason in found] for view, found in reasons.items()
        }
    learned = {"learned": list(explained.learned)} if explained.learned else {}
    return {"sentence": explain_sentence(explained), "rule": explained.rule, "rate": explained.rate, **learned, **record}
