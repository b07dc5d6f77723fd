"""Records that are quick to define: `frozen` is ``dataclass(frozen=True)`` by other means.

A dataclass compiles six methods for each class, which takes longer than all else that the module of
its class does. Here only ``__init__`` is compiled; the rest is the same few functions for all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make `cls` a dataclass: frozen, equal and hashed by its fields, with no slots.

    ``field(default=…)`` and ``field(default_factory=…)`` are understood, ``replace``, ``fields``
    and ``asdict`` work; ``__post_init__`` and fields that are keywords only are not for it.
    """
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    names = [each.name for each in fields]
    made: Any = cls
    made.__init__ = _init(cls, fields)
    made.__repr__, made.__eq__, made.__hash__ = _repr, _eq, _hash
    made.__setattr__ = made.__delattr__ = _refuse
    made._values = attrgetter(*names) if names else type
    return cls


def _init(cls: type[Any], fields: tuple[Field[Any], ...]) -> Callable[..., None]:
    """The compiled ``__init__``: it stores past ``__setattr__``, which refuses."""
    known: dict[str, Any] = {"MISSING": MISSING}
    parameters, lines = [""], ["values = self.__dict__"]
    for each in fields:
        name = each.name
        parameter, value = name, name
        if each.default_factory is not MISSING:
            known[f"make_{name}"] = each.default_factory
            parameter, value = f"{name}=MISSING", f"make_{name}() if {name} is MISSING else {name}"
        elif each.default is not MISSING:
            known[f"default_{name}"] = each.default
            parameter = f"{name}=default_{name}"
        parameters.append(parameter)
        lines.append(f"values['{name}'] = {value}")
    exec(f"def __init__(self{', '.join(parameters)}):\n " + "\n ".join(lines), known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    return made


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self))
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self._values(self) == self._values(other)


def _hash(self: Any) -> int:
    return hash(self._values(self))


def _refuse(self: object, name: str, value: object = None) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")
