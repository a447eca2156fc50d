"""Settings that cannot be meant -> one clear line."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

from difa.errors import ConfigError

_LONGEST_PATTERN = 1_000


def check(condition: bool, stage: object, name: str, expected: str) -> None:
    """Refuse a setting that does not meet a condition."""
    if not condition:
        got = getattr(stage, name)
        raise ConfigError(f"{type(stage).__name__}.{name}: expected {expected}, got {got!r}")


def whole(stage: object, name: str, least: int, most: int | None = None) -> None:
    """Refuse anything but a whole number of at least so much, and at most so much where time or memory go with it."""
    value = getattr(stage, name)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    bound = f"of at least {least}" if most is None else f"from {least} to {most}"
    check(is_whole and value >= least and (most is None or value <= most), stage, name, f"a whole number {bound}")


def number(stage: object, name: str, low: float, high: float = math.inf, *, above: bool = False) -> None:
    """Refuse anything but a finite number within bounds; `above` leaves the lower one out."""
    value = getattr(stage, name)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    bound = f"{'above' if above else 'of at least'} {low:g}" + ("" if high == math.inf else f" and at most {high:g}")
    check(is_number and (value > low if above else value >= low) and value <= high, stage, name, f"a number {bound}")


def compile_pattern(pattern: str) -> Any:
    """A regular expression for RE2, which needs time in proportion to what it reads; raises `ConfigError`."""
    import re2

    if len(pattern) > _LONGEST_PATTERN:
        raise ConfigError(f"pattern to ignore: expected at most {_LONGEST_PATTERN:,} characters, got {len(pattern):,}")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeError) as error:
        why = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise ConfigError(f"pattern to ignore: expected a regular expression of RE2, got {pattern!r} ({why})") from None


def check_seed(seed: object) -> int:
    """A seed as a whole number that is not negative; NumPy's own count as well."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise ConfigError(f"seed: expected a whole number of at least 0, got {seed!r}")
    return int(seed)


def check_threads(threads: object) -> None:
    """Refuse anything but a positive whole number or None."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ConfigError(f"threads: expected a whole number of at least 1, got {threads!r}")
