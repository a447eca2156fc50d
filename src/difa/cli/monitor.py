"""`difa monitor`: batches of a feed -> whether it is still like the normal text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from difa.cli.options import Force, Fpr, Inputs, Json, ModelFolder, ReadIdsOptions, command, print_json, say_next

if TYPE_CHECKING:
    from difa.formats.sources import Source
    from difa.monitor import BatchReport, Monitor
    from difa.monitor.batch import BatchCounts


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
        str | None,
        typer.Option(help="Split the input into batches by this column, or by `day`. Default: each file is a batch."),
    ] = None,
    state: Annotated[Path | None, typer.Option(help="File that keeps the running evidence for the next run.")] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Ignore the content of --state and start over.")] = False,
    alarm: Annotated[
        float, typer.Option(help="Probability of ever raising a false alarm while the feed is like the normal text.")
    ] = 0.05,
    prometheus: Annotated[Path | None, typer.Option(help="File for the figures as Prometheus text.")] = None,
    json: Json = False,
    fpr: Fpr = None,
    force: Force = False,
) -> None:
    """Check whether a feed is still like the normal text; exit code 1 on alarm."""
    from difa.calibrate import check_rate
    from difa.formats.results import check_output
    from difa.monitor import Monitor
    from difa.monitor.watch import prometheus as figures
    from difa.monitor.watch import read_state, write_state
    from difa.storage.atomic import fresh_text

    check_rate("--alarm", alarm)
    sources = given.sources(inputs)
    for path in filter(None, (state, prometheus)):  # known before the feed is scored, so that no verdict is lost
        is_read = path == state and not reset  # and then looked at
        check_output(path, [source.path for source in sources if not source.is_stdin], force or is_read)
    fitted = given.load(model)
    known = read_state(state, fitted.detector_, alarm) if state is not None and not reset else None
    watcher = Monitor(fitted, fpr=fpr, false_alarm=alarm, state=known)
    batches = _batches(watcher, sources, by, given)
    empty = [] if by else [source.label for source in sources if source.label not in batches]
    reports = [watcher.judge(name, batch) for name, batch in batches.items()]
    if prometheus is not None:
        with fresh_text(prometheus) as file:
            file.write(figures(reports, watcher, str(model), len(empty)))
    if state is not None:
        write_state(state, watcher.state)
    _show(reports, empty, watcher, json)
    calm = "the same with the next batch" if state else "--state FILE keeps the evidence for the next run"
    alarmed = f"difa score {model} INPUT --top 30 shows what is new; difa update {model} INPUT if it is normal"
    say_next(alarmed if watcher.state.is_alarm else calm, given.quiet)
    raise typer.Exit(1 if watcher.state.is_alarm else 0)


def _batches(watcher: Monitor, sources: list[Source], by: str | None, given: ReadIdsOptions) -> dict[str, BatchCounts]:
    """The batches in their order: files as they were named, values of a column from low to high."""
    from difa.cli.progress import counter
    from difa.errors import InputError
    from difa.monitor.batch import BatchCounts, cut_batches, in_order

    found: dict[str, BatchCounts] = {}
    with counter("look", None, given.quiet) as advance:
        for source in sources:
            results = watcher.score(given.read([source]))
            for name, result in cut_batches(results, by, source.label):
                found.setdefault(name, BatchCounts()).add(result)
                advance(1)
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
    record: dict[str, Any] = {
        "alarm": state.is_alarm,
        "alarm_since": state.alarm_since,
        "false_alarm": watcher.false_alarm,
        "alarm_log10_evidence": watcher.threshold,
        "documents": state.documents,
        "batches": [report.to_dict() for report in reports],
        "empty": empty,
    }
    print_json(record)
