"""What a setting may be: types with bounds, and one clear line for what cannot be meant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
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

    def refusal(self, value: Any, kind: Any) -> str:
        """What is expected instead of a value of a kind: `int`, `float` or `int | None`; empty where it may be."""
        is_number = isinstance(value, int | kind) and not isinstance(value, bool)
        if is_number and (value is None or self._allow(value)):
            return ""
        if kind is float:
            highest = "" if self.high == math.inf else f" and at most {self.high:g}"
            return f"a number {'above' if self.above else 'of at least'} {self.low:g}{highest}"
        return f"a whole number {f'of at least {self.low}' if self.high == math.inf else f'from {self.low} to {self.high}'}"

    def _allow(self, value: float) -> bool:
        return self.low <= value <= self.high and value != math.inf and not (self.above and value == self.low)


@dataclass(frozen=True)
class Names:
    """What a list of names may hold."""

    known: tuple[str, ...]
    each_once: bool = False
    may_be_empty: bool = False

    def refusal(self, value: Any, kind: Any) -> str:
        """What is expected instead of a list; empty where it may be."""
        is_known = set(value) <= set(self.known) and (bool(value) or self.may_be_empty)
        if is_known and not (self.each_once and len(set(value)) < len(value)):
            return ""
        return f"some of {', '.join(self.known)}{', each once' if self.each_once else ''}"


Count = Annotated[int, Bounds(1)]
Share = Annotated[float, Bounds(0, 1)]
Weight = Annotated[float, Bounds(0)]
Positive = Annotated[float, Bounds(0, above=True)]


class Stage:
    """Settings of one stage: what their types and bounds do not allow is refused when they are made."""

    def __post_init__(self) -> None:
        for name, kind in kinds_of(type(self)).items():  # type: ignore[arg-type]  # classes are hashable
            value = getattr(self, name)
            if isinstance(value, list):  # as JSON has it
                object.__setattr__(self, name, value := tuple(value))
            expected = _refusal(value, kind)
            check(not expected, self, name, expected)


def _refusal(value: Any, kind: Any) -> str:
    """What is expected instead of a value by the type of a setting; empty where it may be."""
    base, *rules = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    if base is bool and not isinstance(value, bool):
        return "true or false"
    if base is str and not (isinstance(value, str) and value.strip()):
        return "text that is not blank"
    if get_origin(base) is Literal and value not in get_args(base):
        return f"one of {', '.join(get_args(base))}"
    if get_origin(base) is tuple and not (isinstance(value, tuple) and all(isinstance(item, str) for item in value)):
        return "a list of strings"
    return next((expected for rule in rules if (expected := rule.refusal(value, base))), "")


def check(condition: bool, stage: Stage, name: str, expected: str) -> None:
    """Refuse a setting that does not meet a condition."""
    if not condition:
        raise ConfigError(f"{type(stage).__name__}.{name}: expected {expected}, got {getattr(stage, name)!r}")


@cache
def kinds_of(settings: type) -> dict[str, Any]:
    """The types of settings with their bounds, or those of all stages."""
    return get_type_hints(settings, include_extras=True)


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
    if expected := Bounds(1).refusal(threads, int | None):
        raise ConfigError(f"threads: expected {expected}, got {threads!r}")
