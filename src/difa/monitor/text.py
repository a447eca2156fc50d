"""Reports on batches -> lines to read, and Prometheus' text format."""

from __future__ import annotations

from collections.abc import Sequence

from difa.monitor.differences import percent
from difa.monitor.watch import BatchReport, Monitor
from difa.report.highlight import visible

_NAMED = 0.01  # chance below which a batch is said to be unlike normal text
_PREFIX = "difa_monitor"


def batch_lines(report: BatchReport, threshold: float) -> list[str]:
    """What there is to say of a batch, the figures first.

    Args:
        report: on the batch.
        threshold: log10 of the evidence at which there is an alarm.
    """
    low, high = map(percent, report.interval)
    more = " – more than promised" if report.interval[0] > report.bound else ""
    lines = [
        f"{visible(report.name)}: {report.flagged} of {report.documents} documents flagged, {percent(report.share)} "
        f"(95 % interval {low} to {high}); promised {percent(report.promise)}, at most {percent(report.bound)}{more}"
    ]
    if report.more_unusual < _NAMED:
        lines.append(f"  more unusual than normal text (chance {report.more_unusual:.1g})")
    elif report.different < _NAMED:
        lines.append(f"  unlike normal text, but not more unusual (chance {report.different:.1g})")
    lines += [f"  {difference.sentence}" for difference in report.differences]
    again = "; counted before, not again" if report.repeated else ""
    lines.append(f"  evidence of a change so far: {odds(report.log10_evidence)}; alarm at {odds(threshold)}{again}")
    return lines


def verdict(monitor: Monitor) -> str:
    """The last line: whether there is an alarm, and what that is worth."""
    worth = f"chance of a false alarm, ever: {percent(monitor.false_alarm)}"
    since = monitor.state.alarm_since
    return f"no alarm ({worth})" if since is None else f"ALARM since {visible(since)}: the feed is no longer as before ({worth})"


def odds(log10: float) -> str:
    """Evidence as odds."""
    return f"{10**log10:.2g} to 1" if log10 < 4 else f"10^{log10:.0f} to 1"


def prometheus(reports: Sequence[BatchReport], monitor: Monitor, model: str, empty: int = 0) -> str:
    """Figures of the last batch and of the running evidence, for a collector of text files.

    Args:
        reports: on the batches of this run.
        monitor: with the running evidence.
        model: its name.
        empty: batches of this run without a document.
    """
    last, state = reports[-1], monitor.state
    figures: list[tuple[str, str, str, float]] = [
        ("documents_total", "counter", "Documents looked at.", state.documents),
        ("flagged_total", "counter", "Documents flagged.", state.flagged),
        ("batches_total", "counter", "Batches looked at.", state.evidence.batches),
        ("empty_batches", "gauge", "Batches of the last run that had no documents.", empty),
        ("batch_documents", "gauge", "Documents of the last batch that had any.", last.documents),
        ("batch_flagged_share", "gauge", "Share of the last batch that is flagged.", last.share),
        ("batch_flagged_share_low", "gauge", "Lower end of its 95 % interval.", last.interval[0]),
        ("batch_flagged_share_high", "gauge", "Upper end of its 95 % interval.", last.interval[1]),
        ("promised_share", "gauge", "Share of normal documents that may be flagged.", last.promise),
        ("batch_chance", "gauge", "Chance that normal text looks as unusual as the last batch.", last.more_unusual),
        ("evidence_log10", "gauge", "Running evidence of a change, log10 of the odds.", last.log10_evidence),
        ("alarm_evidence_log10", "gauge", "Evidence at which there is an alarm.", monitor.threshold),
        ("alarm", "gauge", "1 if there is an alarm, 0 otherwise.", state.is_alarm),
    ]
    label = model.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    lines = []
    for name, kind, text, value in figures:
        full = f"{_PREFIX}_{name}"
        lines += [f"# HELP {full} {text}", f"# TYPE {full} {kind}", f'{full}{{model="{label}"}} {float(value)!r}']
    return "\n".join(lines) + "\n"
