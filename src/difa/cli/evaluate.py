"""What a model does on documents: `difa evaluate` measures it by labels, `difa threshold` finds the rate for a review budget,
`difa monitor` says whether a feed is still like the normal text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from difa.cli import fit
from difa.cli.console import open_text, print_json, say_left_out, say_next, stream
from difa.cli.options import Allow, Fdr, Force, Fpr, Inputs, Json, ModelFolder, ReadIdsOptions, allowed_words, command
from difa.errors import InputError

if TYPE_CHECKING:
    from difa.document import Document
    from difa.formats.sources import Source
    from difa.monitor import BatchReport, Monitor
    from difa.monitor.batch import BatchCounts

_OPEN = "without labels (skipped, not annotated, or called anomalous without marked words)"


@command("difa evaluate model labelled.jsonl", "difa evaluate model labelled.jsonl --json > figures.json")
def evaluate(
    model: ModelFolder,
    labelled: Inputs,
    given: ReadIdsOptions,
    json: Json = False,
    fpr: Fpr = None,
    fdr: Fdr = None,
    allow: Allow = None,
) -> None:
    """Measure a model on documents whose words are labelled."""
    from difa.decide.evaluate import evaluate as measure

    documents = _read_labelled(given.sources(labelled), given)
    fitted = given.load(model).allow(allowed_words(allow))
    figures = measure(given.score(fitted, documents, fpr, fdr), documents)
    if json:
        print_json(asdict(figures))
        return
    typer.echo(f"{'':10}{'AUROC':>8}{'AP':>8}{'anomalous':>12}{'all':>8}")
    for name, level in (("words", figures.word), ("documents", figures.document)):
        typer.echo(f"{name:10}{level.auroc:8.3f}{level.average_precision:8.3f}{level.anomalous:12d}{level.count:8d}")
    typer.echo(f"flagged: {figures.recall:.0%} of anomalous documents, {figures.false_alarm_rate:.1%} of normal ones")


def _read_labelled(sources: Sequence[Source], given: ReadIdsOptions) -> list[Document]:
    """All documents that can be evaluated; tasks of an export without labels are left out and counted."""
    from difa.decide.evaluate import check_labels

    left_out = 0

    def is_labelled(source: Source, document: Document) -> bool:
        nonlocal left_out
        is_open = source.suffix == ".json" and document.labels is None
        left_out += is_open
        return not is_open

    documents = list(given.read(sources, is_labelled))
    if left_out and not documents:
        raise InputError(f"expected annotated tasks, got {left_out} {_OPEN}: annotate them in Label Studio and export again")
    check_labels(documents)
    say_left_out(left_out, _OPEN, given.quiet)
    return documents


@command("difa threshold model recent.csv --budget 30/2000", "difa threshold model recent.csv --budget 30/2000 --set")
def threshold(
    model: ModelFolder,
    inputs: Inputs,
    budget: Annotated[
        str, Option(help="Documents to review, such as 30/2000; 30 alone means 30 of all documents in the inputs.")
    ],
    given: ReadIdsOptions,
    set_: Annotated[bool, Option("--set", help="Also store the rate in the model, as `difa set` does.")] = False,
    json: Json = False,
) -> None:
    """Find the rate that keeps the number of flagged documents within a budget, from recent documents."""
    import numpy as np

    from difa.decide.review_budget import parse_budget, rate_for_budget

    parse_budget(budget, 1 << 62)  # one that cannot be read is refused before anything is scored
    documents = list(given.read(given.sources(inputs)))
    if not documents:
        raise InputError("expected recent documents, got none")
    fitted = given.load(model)
    p_values = np.array([result.p_value for result in given.score(fitted, documents, fitted.fpr)])
    reference = fitted.detector_.document_reference
    found = rate_for_budget(p_values, *parse_budget(budget, len(documents)), len(reference.values))
    if json:
        print_json(asdict(found))
    else:
        low, high = found.interval
        typer.echo(
            f"rate {found.rate!r}: flags {found.recent_flagged} of the {found.recent} recent documents, and of the next "
            f"{found.documents} like them {found.expected:.0f} on average, {low} to {high} with 95 % confidence"
        )
    if set_:
        fit.set_(model=model, fpr=found.rate, quiet=given.quiet)
    elif not json:
        typer.echo(f"put it in force: difa set {model} --fpr {found.rate!r}")


@command(
    "difa monitor model monday.csv tuesday.csv",
    "difa monitor model may.csv --by day",
    "difa monitor model today.csv --state feed.json --prometheus /var/lib/node_exporter/difa.prom",
)
def monitor(
    model: ModelFolder,
    inputs: Inputs,
    given: ReadIdsOptions,
    by: Annotated[
        str | None, Option(help="Split the input into batches by this column, or by `day`. Default: each file is a batch.")
    ] = None,
    state: Annotated[Path | None, Option(help="File that keeps the running evidence for the next run.")] = None,
    reset: Annotated[bool, Option("--reset", help="Ignore the content of --state and start over.")] = False,
    alarm: Annotated[
        float, Option(help="Probability of ever raising a false alarm while the feed is like the normal text.")
    ] = 0.05,
    prometheus: Annotated[Path | None, Option(help="File for the figures as Prometheus text.")] = None,
    json: Json = False,
    fpr: Fpr = None,
    force: Force = False,
) -> None:
    """Check whether a feed is still like the normal text; exit code 1 on alarm."""
    from difa.calibrate import check_rate
    from difa.formats.results import check_outputs
    from difa.monitor import Monitor
    from difa.monitor.evidence import read_state, write_state
    from difa.monitor.watch import prometheus as figures

    check_rate("--alarm", alarm)
    sources = given.sources(inputs)
    read = [source.path for source in sources if not source.is_stdin]
    check_outputs((state, prometheus), read, force or not reset)  # before the feed is scored, so that no verdict is lost
    check_outputs((prometheus,), read, force)  # a state that is read is looked at then
    fitted = given.load(model)
    known = read_state(state, fitted.detector_, alarm) if state is not None and not reset else None
    watcher = Monitor(fitted, fpr=fpr, false_alarm=alarm, state=known)
    batches = _batches(watcher, sources, by, given)
    empty = [] if by else [source.label for source in sources if source.label not in batches]
    reports = [watcher.judge(name, batch) for name, batch in batches.items()]
    if prometheus is not None:
        with open_text(prometheus) as file:
            file.write(figures(reports[-1], watcher, str(model), len(empty)))
    if state is not None:
        write_state(state, watcher.state)
    _show(reports, empty, watcher, json)
    calm = "the same with the next batch" if state else "--state FILE keeps the evidence for the next run"
    alarmed = f"difa score {model} INPUT --top 30 shows what is new; difa update {model} --normal INPUT if it is normal"
    say_next(alarmed if watcher.state.is_alarm else calm, given.quiet)
    raise typer.Exit(1 if watcher.state.is_alarm else 0)


def _batches(watcher: Monitor, sources: list[Source], by: str | None, given: ReadIdsOptions) -> dict[str, BatchCounts]:
    """The batches in their order: files as they were named, values of a column from low to high."""
    from difa.monitor.batch import BatchCounts, batch_of, in_order

    found: dict[str, BatchCounts] = {}
    with stream(given.quiet) as watch:
        watch.begin(None)
        for source in sources:
            for result in watcher.score(given.read([source])):
                name = source.label if by is None else batch_of(result, by, source.label)
                found.setdefault(name, BatchCounts()).add(result)
                watch.advance(1, 1)
    if not found:
        raise InputError(f"{sources[0].label}: expected documents, got none")
    return in_order(found) if by else found


def _show(reports: list[BatchReport], empty: list[str], watcher: Monitor, json: bool) -> None:
    from difa.monitor.watch import batch_lines, verdict
    from difa.report.sentences import visible

    if not json:
        for report in reports:
            typer.echo("\n".join(batch_lines(report, watcher.threshold)))
        for name in empty:
            typer.echo(f"{visible(name)}: no documents")
        typer.echo(verdict(watcher))
        return
    state = watcher.state
    record = {
        "alarm": state.is_alarm,
        "alarm_since": state.alarm_since,
        "false_alarm": state.false_alarm,
        "alarm_log10_evidence": watcher.threshold,
        "documents": state.documents,
        "batches": [report.to_dict() for report in reports],
        "empty": empty,
    }
    print_json(record)
