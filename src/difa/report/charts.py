"""Counts -> pictures as SVG, whose colours the page's style sheet sets."""

from __future__ import annotations

from collections.abc import Sequence

_WIDTH, _HEIGHT, _LEFT, _BELOW, _ABOVE = 720, 230, 46, 34, 18


def p_histogram(counts: Sequence[int], flagged_up_to: float) -> str:
    """Documents by p-value, with what normal text would give as a line.

    Args:
        counts: documents in equal steps of the p-value from 0 to 1.
        flagged_up_to: the highest p-value that is flagged; the steps below it are coloured.
    """
    steps, expected = len(counts), sum(counts) / len(counts)
    top = max([*counts, expected, 1])
    width, height = (_WIDTH - _LEFT) / steps, _HEIGHT - _BELOW - _ABOVE
    floor = _HEIGHT - _BELOW
    bars = "".join(
        f"<rect class='b{' hot' if at / steps < flagged_up_to else ''}' x='{_LEFT + at * width + 1.5:.1f}' "
        f"y='{floor - height * count / top:.1f}' width='{width - 3:.1f}' height='{height * count / top:.1f}' rx='2'>"
        f"<title>p {at / steps:.2f} to {(at + 1) / steps:.2f}: {count:,} documents</title></rect>"
        for at, count in enumerate(counts)
    )
    line = floor - height * expected / top
    marks = "".join(
        f"<text x='{_LEFT + share * (_WIDTH - _LEFT):.1f}' y='{floor + 18}' text-anchor='{anchor}'>{share:g}</text>"
        for share, anchor in ((0, "start"), (0.25, "middle"), (0.5, "middle"), (0.75, "middle"), (1, "end"))
    )
    return (
        f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' aria-label='Histogram of document p-values'>"
        f"<line class='axis' x1='{_LEFT}' x2='{_WIDTH}' y1='{floor + 0.5}' y2='{floor + 0.5}'/>{bars}"
        f"<line class='expected' x1='{_LEFT}' x2='{_WIDTH}' y1='{line:.1f}' y2='{line:.1f}'/>"
        f"<text x='{_WIDTH}' y='{line - 6:.1f}' text-anchor='end'>normal text: {expected:,.0f} in each step</text>"
        f"<text x='{_LEFT - 8}' y='{floor - height + 4:.1f}' text-anchor='end'>{top:,.0f}</text>"
        f"<text x='{_LEFT - 8}' y='{floor + 4}' text-anchor='end'>0</text>{marks}</svg>"
    )
