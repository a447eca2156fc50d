"""What a setting may be: types with bounds, and one clear line for what cannot be meant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from difa.errors import ConfigError

_LONGEST_PATTERN = 1_000


@dataclass(frozen=True)
class Bounds:
    """What a number may be; `above` leaves the lower bound out."""

    low: float
    high: float = math.inf
    above: bool = False

    def refusal(self, value: Any, whole: bool) -> str:
        """What is expected instead of a value; empty where it is within the bounds."""
        is_number = isinstance(value, int) or (not whole and isinstance(value, float) and math.isfinite(value))
        is_within = is_number and not isinstance(value, bool) and self.low <= value <= self.high
        if is_within and not (self.above and value == self.low):
            return ""
        if whole:
            return f"a whole number {f'of at least {self.low}' if self.high == math.inf else f'from {self.low} to {self.high}'}"
        most = "" if self.high == math.inf else f" and at most {self.high:g}"
        return f"a number {'above' if self.above else 'of at least'} {self.low:g}{most}"


Count = Annotated[int, Bounds(1)]
Share = Annotated[float, Bounds(0, 1)]
Weight = Annotated[float, Bounds(0)]
Positive = Annotated[float, Bounds(0, above=True)]


class Stage:
    """Settings of one stage: what their types and bounds do not allow is refused when they are made."""

    def __post_init__(self) -> None:
        for name, kind in kinds_of(type(self)).items():
            value = getattr(self, name)
            if kind is bool:
                check(isinstance(value, bool), self, name, "true or false")
            elif get_origin(kind) is Literal:
                check(value in get_args(kind), self, name, f"one of {', '.join(get_args(kind))}")
            elif get_origin(kind) is Annotated:
                number, bounds = get_args(kind)
                expected = bounds.refusal(value, whole=number is int)
                check(not expected, self, name, expected)


def kinds_of(settings: type) -> dict[str, Any]:
    """The types of settings with their bounds, or those of all stages."""
    return get_type_hints(settings, include_extras=True)


def check(condition: bool, stage: Stage, name: str, expected: str) -> None:
    """Refuse a setting that does not meet a condition."""
    if not condition:
        raise ConfigError(f"{type(stage).__name__}.{name}: expected {expected}, got {getattr(stage, name)!r}")


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
