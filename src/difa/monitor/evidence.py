"""Document p-values, batch after batch -> running evidence that the feed has changed, which may be looked at at any time.

A game against "the feed is as before": a unit of capital is bet on small p-values, by bets ε·p^(ε−1) that are fair where p-values
are uniform. Whoever plays a fair game reaches 1/α times the capital with a chance of at most α, ever (Ville's inequality): a
conformal test martingale. With batch t a share of 1/(t(t+1)) of the capital enters the game, the rest waits: so a change that
comes late is found as well, at a cost that grows with the logarithm of t only.

The p-values of a model are ranks among one reference sample, and in the long run any game finds out what is peculiar about that
sample. So they are raised first to what holds, with a chance of 1 − α/2, for all ranks at once (calibration-conditional p-values
of Bates et al., 2023, with a bound like Wilson's); bets fall in p, so that a p-value that is too large only loses.
The chance of a false alarm is then α/2 for the sample and α/2 for the game.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from difa.document import FloatArray

BETS = (0.3, 0.5, 0.7, 0.85, 0.95, 0.98)
"""Exponents ε: small ones bet on few documents that are very unusual, large ones on many that are a little."""
_BAND = 0.4  # of the bound on all ranks at once; simulations of 10 to 50,000 references stay within it


@dataclass(frozen=True)
class Evidence:
    """What the running game has come to."""

    logs: tuple[float, ...] = (-math.inf,) * len(BETS)
    """Logarithm of the capital in each bet."""
    batches: int = 0

    @property
    def log_capital(self) -> float:
        """Logarithm of all capital, 0 at the start: the log odds against "as before"."""
        waiting = -math.log(self.batches + 1)
        return float(np.logaddexp.reduce([*self.logs, waiting]))

    def after(self, p_values: FloatArray) -> Evidence:
        """The evidence when one more batch of p-values, as `raise_p_values` gives them, has been seen."""
        number = self.batches + 1
        entering = -math.log(number * (number + 1) * len(BETS))
        total, count = float(np.log(p_values).sum()), len(p_values)
        gains = [count * math.log(bet) + (bet - 1) * total for bet in BETS]
        logs = [float(np.logaddexp(log, entering)) + gain for log, gain in zip(self.logs, gains, strict=True)]
        return replace(self, logs=tuple(logs), batches=number)


def capital_for_alarm(false_alarm: float) -> float:
    """The capital at which there is an alarm, for a chance of a false one."""
    return 2 / false_alarm


def raise_p_values(p_values: FloatArray, references: int, false_alarm: float) -> FloatArray:
    """P-values that stay valid however long one looks, but for a chance of half of `false_alarm`.

    Args:
        p_values: ranks among the reference sample: (documents,).
        references: size of the sample.
        false_alarm: chance of a false alarm in all.
    """
    square = 2 * math.log(_BAND * math.log(references + 3) / (false_alarm / 2))
    # The largest u with (u − p)·√n = c·√(u(1 − u)); beyond one half c/2 takes the place of the root.
    middle = 2 * references * p_values + square
    root = np.sqrt(np.maximum(middle**2 - 4 * (references + square) * references * p_values**2, 0.0))
    lower = (middle + root) / (2 * (references + square))
    upper = p_values + math.sqrt(square / references) / 2
    return np.asarray(np.minimum(np.where(lower <= 0.5, lower, upper), 1.0))
