"""How much two workers of the Ray engine do beside one, each with one thread; starting Ray and loading are not counted.

python benchmarks/workers.py build/demo/model
"""

import argparse
import json
import statistics
from pathlib import Path

from difa.engines.job import Job
from difa.engines.ray import score_files
from difa.storage.atomic import scratch_folder
from difa.words import split_words

NORMAL = Path(__file__).parent.parent / "examples" / "support" / "normal.txt"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--documents", type=int, default=6000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    lines = NORMAL.read_text(encoding="utf-8").splitlines()
    # Each text is made unlike the others: equal ones within a batch would be encoded once.
    texts = [f"{lines[n % len(lines)]} {n}" for n in range(options.documents)]
    words = sum(len(split_words(text)) for text in texts)
    runs: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(options.repeat):
        for workers, seconds in runs.items():
            seconds.append(measure(options.model, texts, workers))
            print(f"{workers} workers: {words / seconds[-1]:,.0f} words/s", flush=True)
    rate = {workers: round(words / statistics.median(seconds)) for workers, seconds in runs.items()}
    figures = {"documents": len(texts), "words": words, "words_per_second": rate, "ratio": round(rate[2] / rate[1], 2)}
    print(json.dumps(figures))


def measure(model: Path, documents: list[str], workers: int) -> float:
    """Seconds that workers of one thread each need for the documents, without starting Ray and loading the model."""
    with scratch_folder() as folder:
        source = folder / "documents.jsonl"
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents), encoding="utf-8")
        return score_files(Job(model, [str(source)]), f"{folder}/out", workers=workers).seconds


if __name__ == "__main__":
    main()
