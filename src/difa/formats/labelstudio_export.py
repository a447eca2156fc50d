"""Results -> Label Studio tasks with their flagged words marked beforehand, and the labelling configuration.

Flagged words with only white space between them become one region. Offsets count UTF-16 units, as browsers do. What annotators
send back is read by `labelstudio`.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from difa.document import Result, WordScore
from difa.formats.labelstudio import ANOMALOUS, ID_KEY, VERDICT, wide_places

LABEL = "anomaly"
CONFIGURATION = f"""<View>
  <Labels name="label" toName="text">
    <Label value="{LABEL}" background="#e03131"/>
  </Labels>
  <Text name="text" value="$text" granularity="word"/>
  <Choices name="{VERDICT}" toName="text" choice="single" showInline="true">
    <Choice value="normal"/>
    <Choice value="{ANOMALOUS}"/>
  </Choices>
</View>
"""

Describe = Callable[[WordScore], str]


def write_tasks(results: Iterable[Result], version: str, describe: Describe) -> Iterator[str]:
    """The parts of a JSON list of tasks.

    Args:
        results: what was scored.
        version: the model version that Label Studio shows.
        describe: a note on a word, for its region.
    """
    yield "["
    for number, result in enumerate(results):
        yield (",\n" if number else "\n") + json.dumps(task_of(result, version, describe), ensure_ascii=False)
    yield "\n]\n"


def task_of(result: Result, version: str, describe: Describe) -> dict[str, Any]:
    """One task: the text, its id and its other columns, and what the model marks."""
    wide = wide_places(result.text)
    regions = [_region(result.text, wide, words, number, describe) for number, words in enumerate(_regions(result))]
    verdict = {"choices": [ANOMALOUS if result.is_anomaly else "normal"]}
    choice = {"id": VERDICT, "from_name": VERDICT, "to_name": "text", "type": "choices", "value": verdict}
    prediction = {"model_version": version, "score": 1.0 - result.p_value, "result": [*regions, choice]}
    return {"data": {**result.columns, "text": result.text, ID_KEY: result.id}, "predictions": [prediction]}


def _regions(result: Result) -> list[list[WordScore]]:
    """Flagged words, those beside each other together."""
    regions: list[list[WordScore]] = []
    for word in result.words:
        if not word.is_anomaly:
            continue
        if regions and not result.text[regions[-1][-1].end : word.start].strip():
            regions[-1].append(word)
        else:
            regions.append([word])
    return regions


def _region(text: str, wide: Sequence[int], words: Sequence[WordScore], number: int, describe: Describe) -> dict[str, Any]:
    start, end = words[0].start, words[-1].end
    units = {"start": start + bisect_left(wide, start), "end": end + bisect_left(wide, end)}
    return {
        "id": f"difa-{number}",
        "from_name": "label",
        "to_name": "text",
        "type": "labels",
        "value": {**units, "text": text[start:end], "labels": [LABEL]},
        "score": 1.0 - min(word.p_value for word in words),
        "meta": {"text": [" ".join(map(describe, words))]},
    }
