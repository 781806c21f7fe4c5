"""Parameters as scikit-learn has them: a constructor that only assigns, and everything else for free."""

import inspect
from typing import Any, Self

from diptych._core.errors import ConfigError


class Parametrised:
    """Give `get_params`, `set_params` and a repr to a class whose constructor only stores its arguments."""

    @classmethod
    def parameter_defaults(cls) -> dict[str, Any]:
        """The constructor's parameters and their defaults."""
        signature = inspect.signature(cls.__init__)
        return {name: p.default for name, p in signature.parameters.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The current parameters, by name."""
        return {name: getattr(self, name) for name in self.parameter_defaults()}

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401 - each parameter has its own type
        """Change some parameters; an unknown name is an error."""
        check_names(type(self).__name__, params, list(self.parameter_defaults()))
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = self.parameter_defaults()
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name]]
        return f"{type(self).__name__}({', '.join(changed)})"


def check_names(owner: str, given: dict[str, Any], known: list[str]) -> None:
    """Refuse parameters the owner does not have."""
    for name in given:
        if name not in known:
            raise ConfigError(f"{owner} has no parameter '{name}'; it has {', '.join(known) or 'none'}.")
