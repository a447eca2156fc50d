"""Records of `difa bench speed` -> Markdown: every figure beside its target."""

from __future__ import annotations

from collections.abc import Sequence

from difa.bench.store import Record

_MIB = 1024
_OF_MANY = ("fast", "counting")  # parts that have many times the documents


def speed_markdown(records: Sequence[Record]) -> str:
    """Ratios with their targets, then words per second, stages and memory."""
    parts = ["# Speed", ""]
    for record in records:
        parts += _section(record)
    return "\n".join(parts)


def ratios(record: Record) -> list[tuple[str, tuple[float, str]]]:
    """What is compared: its name, the figure and its target."""
    s = record["seconds"]
    # In a pipeline stages run beside the encoder: what counts is the time by which all of it exceeds the encoder's alone.
    after = 1 - s["encoder"] / s["end to end"]
    found = [
        ("time beyond that of the encoder alone, share of scoring from file to file", (after, "≤ 0.40")),
        ("`DiFA.score` and JSON to encoder alone, time", (s["score"] / s["encoder"], "≤ 1.7")),
        ("encoder to bare matrix products, speed", (s["matrix"] / s["encoder"], "≥ 0.70")),
        ("first score from a cold start to loading torch, transformers", (s["one line"] / s["torch, transformers"], "≤ 0.5")),
        ("`difa --help` to importing numpy and typer", (s["help"] / s["numpy and typer"], "≤ 2")),
        ("`import difa` to importing numpy and typer", (s["import difa"] / s["numpy and typer"], "≤ 1.5")),
        ("four times the documents, time of the command", (s["four times"] / s["command"], "≤ 4.3")),
    ]
    if "fast" in s:
        faster = (record["fast_words"] / s["fast"]) / (record["words"] / s["end to end"])
        found += [
            ("preset fast to full, words a second from file to file", (faster, "≥ 10")),
            ("preset fast to plain counting, speed", (s["counting"] / s["fast"], "≥ 0.25")),
            ("preset fast to full, first score from a cold start", (s["fast one line"] / s["one line"], "≤ 0.5")),
            ("preset fast, peak in GiB of one process", (record["peak_mib"]["fast command"] / _MIB, "≤ 0.39")),
        ]
    if "peer" in s:
        found.insert(
            0, ("command end to end to PyTextAD (TokenCore, without start-up), speed", (s["peer"] / s["command"], "≥ 3"))
        )
    if "many" in record:
        many = record["many"]
        count = f"{many['documents']:,} short documents"
        found.append((f"{count}, memory at the end to a quarter", (many["end"] / max(many["quarter"], 1e-9), "≤ 1.10")))
        found.append((f"{count}, peak in GiB", (many["peak"] / _MIB, "< 1")))
    return found


def meets(figure: float, target: str) -> bool:
    """Whether a figure keeps to its target, such as `≤ 0.5`."""
    sign, limit = target.split()
    return figure >= float(limit) if sign == "≥" else figure <= float(limit)


def _section(record: Record) -> list[str]:
    s, words = record["seconds"], record["words"]
    rounds = record["settings"]["rounds"]
    lines = [
        f"## {record['set']}, {record['form']} form",
        "",
        f"{record['documents']} documents, {words:,} words, {record['subwords']:,} subwords; {record['threads']} threads; "
        f"medians of {rounds} rounds in which all parts took turns.",
        "",
        "| ratio | measured | target | kept |",
        "|---|---|---|---|",
        *(
            f"| {name} | {figure:.2f} | {aim} | {'yes' if meets(figure, aim) else 'no'} |"
            for name, (figure, aim) in ratios(record)
        ),
        "",
        "| part | words a second | seconds | least–most |",
        "|---|---|---|---|",
    ]
    throughput = {
        "command": "`difa score`, process and all",
        "end to end": "from file to file, in process",
        "score": "`DiFA.score` and JSON, in process",
        "encoder": "encoder alone",
        "matrix": "matrix products alone",
        "peer": "PyTextAD TokenCore, in process",
        "fast": "preset `fast`, from file to file, many times the documents",
        "counting": "plain counting of the same words",
    }
    for part, label in throughput.items():
        if part in s:
            low, high = record["spread"][part]
            count = record["fast_words"] if part in _OF_MANY else words
            lines.append(f"| {label} | {count / s[part]:,.0f} | {s[part]:.2f} | {low:.2f}–{high:.2f} |")
    lines += ["", "| stage | seconds |", "|---|---|"]
    lines += [f"| {stage} | {seconds:.3f} |" for stage, seconds in record["stages"].items()]
    lines += ["", "| process | seconds | peak MiB |", "|---|---|---|"]
    lines += [f"| {part} | {s[part]:.2f} | {peak:.0f} |" for part, peak in record["peak_mib"].items()]
    return [*lines, ""]
