"""Constructor's parameters in the habits of scikit-learn: stored untouched under their own names, read and changed by name."""

from __future__ import annotations

import inspect
from typing import Any, Self

from difa.errors import ConfigError


class Parameters:
    """What an estimator inherits, so that searches, pipelines and copies know its parameters."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The constructor's parameters with their defaults."""
        return {name: p.default for name, p in inspect.signature(cls.__init__).parameters.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; all but `fpr` and `fdr` take effect with the next fit."""
        names = self._defaults()
        for name, value in parameters.items():
            if name not in names:
                raise ConfigError(f"unknown parameter {name!r}: expected one of {', '.join(names)}")
            setattr(self, name, value)
        return self

    def _changed(self) -> str:
        """The parameters that differ from their defaults, as the constructor is called with them."""
        defaults = self._defaults()
        return ", ".join(f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name])
