"""Batches and the time they took -> how long others will take."""

from __future__ import annotations

_MEMORY = 0.8  # share of the old estimate that a new measurement leaves in place
_ODD = 2.0  # times faster or slower than expected that a single batch is believed to be


class Speed:
    """Seconds per cost, as recent batches had it. One odd batch moves the estimate by a fifth at most."""

    def __init__(self, seconds_per_cost: float) -> None:
        self.seconds_per_cost = seconds_per_cost

    def add(self, cost: int, seconds: float) -> None:
        """Learn from a batch."""
        known = self.seconds_per_cost
        latest = min(max(seconds / max(1, cost), known / _ODD), known * _ODD)
        self.seconds_per_cost = _MEMORY * known + (1 - _MEMORY) * latest

    def estimate(self, cost: int) -> float:
        """Seconds that work of this cost will take."""
        return cost * self.seconds_per_cost
