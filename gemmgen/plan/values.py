"""Numbers that remember how they came about."""

from __future__ import annotations

from gemmgen.frozen import frozen


def grouped(value: int) -> str:
    """`value` with underscores between thousands, as Python source writes it."""
    return f"{value:_}"


def align_up(value: int, alignment: int) -> int:
    """The smallest multiple of `alignment` that is not below `value`."""
    return -(-value // alignment) * alignment


def power_of_two(value: int) -> int:
    """The smallest power of two that is not below `value`; 1 for values below 1."""
    return 1 << max(value - 1, 0).bit_length()


def counted(count: int, noun: str) -> str:
    """``1 warp``, ``2 warps``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@frozen
class Sum:
    """A derived number and its arithmetic, for instance ``(A 16_384 + B 16_384) x 6 stages``."""

    value: int
    text: str

    def __str__(self) -> str:
        """The arithmetic, then its result; only the number where there is no arithmetic."""
        number = grouped(self.value)
        return number if self.text == number else f"{self.text} = {number}"


@frozen
class Constant:
    """A module constant of the generated file.

    Attributes:
        name: in capitals.
        value: what `code` evaluates to, given the constants before it.
        code: Python source of the right-hand side.
        note: what a reader needs to know, or empty.
    """

    name: str
    value: int
    code: str
    note: str = ""


@frozen
class ConstantLine:
    """One assignment of the generated file: one constant, or several that belong together."""

    constants: tuple[Constant, ...]
    note: str = ""

    @property
    def statement(self) -> str:
        """The assignment, for instance ``MMA_M, MMA_N, MMA_K = 128, 256, 16``."""
        names = ", ".join(constant.name for constant in self.constants)
        return f"{names} = " + ", ".join(constant.code for constant in self.constants)


def line(constant: Constant) -> ConstantLine:
    """An assignment of one constant."""
    return ConstantLine((constant,), constant.note)


def literal(name: str, value: int, note: str = "") -> Constant:
    """A constant that is written as its value."""
    return Constant(name, value, grouped(value), note)
