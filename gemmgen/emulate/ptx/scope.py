"""Nested `{}` scopes: registers and labels by name, slots handed out once."""

from __future__ import annotations

from gemmgen.emulate.ptx.model import Reg, Vec

_LETTERS = "xyzw"


class Slots:
    """Hands out register slots of one kernel."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.bits: list[int] = []

    def new(self, name: str, bits: int) -> Reg:
        """A fresh slot."""
        self.names.append(name)
        self.bits.append(bits)
        return Reg(name, len(self.names) - 1, bits)


class Scope:
    """Names of one `{}` block."""

    def __init__(self, parent: Scope | None, slots: Slots) -> None:
        self.parent = parent
        self.slots = slots
        self.registers: dict[str, Reg | Vec] = {}
        self.ranges: dict[str, int] = {}  # prefix of `%r<12>` -> bits
        self.labels: dict[str, int] = {}

    def declare(self, name: str, bits: int, width: int) -> None:
        """`.reg .bN name` or, with width 2 or 4, `.reg .vW .bN name`."""
        if width == 1:
            self.registers[name] = self.slots.new(name, bits)
            return
        parts = tuple(self.slots.new(f"{name}.{_LETTERS[i]}", bits) for i in range(width))
        self.registers[name] = Vec(parts)
        for part in parts:
            self.registers[part.name] = part

    def register(self, name: str) -> Reg | Vec | None:
        """The register that a name means here; slots of a `%r<n>` range are made at first use."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.registers.get(name)
            if found is not None:
                return found
            prefix = name.rstrip("0123456789")
            bits = scope.ranges.get(prefix) if prefix != name else None
            if bits is not None:
                made = scope.slots.new(name, bits)
                scope.registers[name] = made
                return made
            scope = scope.parent
        return None

    def label(self, name: str) -> int | None:
        """The instruction index of a label visible here."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.parent
        return None
