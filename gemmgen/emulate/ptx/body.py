"""The body of an entry: declarations, labels and instructions in nested scopes."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence

from gemmgen.emulate.errors import Place
from gemmgen.emulate.ptx.lexer import Token
from gemmgen.emulate.ptx.model import (
    Addr,
    Bracket,
    Imm,
    Instr,
    Label,
    Not,
    Operand,
    Pair,
    Param,
    Reg,
    SharedVar,
    Sink,
    Special,
    Sym,
    Vec,
)
from gemmgen.emulate.ptx.scope import Scope, Slots
from gemmgen.emulate.ptx.stream import Stream, type_bytes

_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
_INLINED = re.compile(r"inlined_at\s+(\d+)\s+(\d+)\s+(\d+)")
_BRANCHES = ("bra", "brx")


class BodyParser:
    """Reads tokens from just after the `{` of an entry to its `}`."""

    def __init__(
        self,
        stream: Stream,
        files: dict[int, str],
        params: Sequence[Param],
        shared: Sequence[SharedVar],
        variable: Callable[[Stream], SharedVar],
    ) -> None:
        self.stream = stream
        self.files = files
        self.symbols = {p.name for p in params} | {v.name for v in shared}
        self.variable = variable
        self.slots = Slots()
        self.instrs: list[Instr] = []
        self.shared: list[SharedVar] = []
        self.local: list[SharedVar] = []
        self.source = ""
        self._branches: list[tuple[int, Scope, Token]] = []

    def run(self) -> None:
        """Fill ``instrs``. Raises E215."""
        scope: Scope | None = Scope(None, self.slots)
        while scope is not None:
            token = self.stream.next()
            text = token.text
            if text == "{":
                scope = Scope(scope, self.slots)
            elif text == "}":
                scope = scope.parent
            elif text == ";":
                continue
            elif token.kind == "line":
                self._locate(text)
            elif text.startswith("."):
                self._directive(token, scope)
            elif self.stream.peek().text == ":":
                self.stream.next()
                scope.labels[text] = len(self.instrs)
            else:
                self._instruction(token, scope)
        self._resolve()

    def _locate(self, text: str) -> None:
        found = _LOC.match(text)
        if found is None:
            return
        inlined = _INLINED.search(text)
        file, line, _ = (int(x) for x in (inlined or found).groups())
        name = self.files.get(file, f"file {file}")
        self.source = f"{name}:{line}" if line else ""

    def _directive(self, token: Token, scope: Scope) -> None:
        if token.text == ".reg":
            self._registers(scope)
        elif token.text in (".shared", ".local"):
            made = self.variable(self.stream)
            self.symbols.add(made.name)
            (self.shared if token.text == ".shared" else self.local).append(made)
        else:
            while self.stream.next().text != ";":
                pass

    def _registers(self, scope: Scope) -> None:
        stream = self.stream
        width = 1
        token = stream.next()
        if token.text in (".v2", ".v4"):
            width = int(token.text[2:])
            token = stream.next()
        bits = 1 if token.text == ".pred" else 8 * type_bytes(token, stream)
        while True:
            name = stream.next().text
            if stream.accept("<"):
                stream.integer()
                stream.expect(">")
                scope.ranges[name] = bits
            else:
                scope.declare(name, bits, width)
            if stream.accept(";"):
                return
            stream.expect(",")

    def _instruction(self, token: Token, scope: Scope) -> None:
        stream = self.stream
        guard, negated = None, False
        line = token.line
        if token.text == "@":
            negated = stream.accept("!")
            register = scope.register(stream.next().text)
            if not isinstance(register, Reg):
                raise stream.error("the guard is not a predicate register", token)
            guard = register
            token = stream.next()
        if token.kind != "word":
            raise stream.error(f"`{token.text}` does not begin a statement", token)
        operands: list[Operand] = []
        if token.text.split(".")[0] in _BRANCHES:
            self._branches.append((len(self.instrs), scope, stream.peek()))
        while not stream.accept(";"):
            operands.append(self._operand(scope))
            if not stream.accept(","):
                stream.expect(";")
                break
        self.instrs.append(
            Instr(
                len(self.instrs),
                token.text,
                tuple(operands),
                guard,
                negated,
                self._place(line, token),
            )
        )

    def _place(self, line: int, token: Token) -> Place:
        return self.stream.place(max(line, token.line), self.source)

    def _operand(self, scope: Scope) -> Operand:
        first = self._single(scope)
        if self.stream.accept("|"):
            return Pair(first, self._single(scope))
        return first

    def _single(self, scope: Scope) -> Operand:
        stream = self.stream
        if stream.accept("["):
            return self._bracket(scope)
        if stream.accept("{"):
            return Vec(self._list(scope, "}"))
        if stream.accept("("):
            return Vec(self._list(scope, ")"))
        if stream.accept("!"):
            register = scope.register(stream.next().text)
            if not isinstance(register, Reg):
                raise stream.error("`!` needs a predicate register", stream.peek(-1))
            return Not(register)
        base = self._atom(scope)
        if isinstance(base, Sym) and stream.peek().text in "+-":
            return Sym(base.name, base.offset + self._offset())
        return base

    def _list(self, scope: Scope, end: str) -> tuple[Operand, ...]:
        items: list[Operand] = []
        while not self.stream.accept(end):
            items.append(self._operand(scope))
            if not self.stream.accept(","):
                self.stream.expect(end)
                break
        return tuple(items)

    def _bracket(self, scope: Scope) -> Operand:
        stream = self.stream
        base = self._atom(scope)
        offset = self._offset() if stream.peek().text in ("+", "-") else 0
        if not isinstance(base, Reg | Imm | Sym):
            raise stream.error("not an address", stream.peek(-1))
        if stream.accept("]"):
            return Addr(base, offset)
        stream.expect(",")
        head: Operand = base if not offset else Addr(base, offset)
        return Bracket((head, *self._list(scope, "]")))

    def _offset(self) -> int:
        sign = 1
        token = self.stream.next()
        while token.text in ("+", "-"):
            sign = -sign if token.text == "-" else sign
            token = self.stream.next()
        return sign * int(token.text.rstrip("U"), 0)

    def _atom(self, scope: Scope) -> Operand:
        stream = self.stream
        token = stream.next()
        if token.text == "-":
            number = _number(stream.next().text)
            return Imm(-number.value, number.bits)
        if token.kind == "number":
            return _number(token.text)
        if token.text == "_":
            return Sink()
        register = scope.register(token.text)
        if register is not None:
            return register
        if token.text.startswith("%"):
            return Special(token.text)
        if token.kind != "word":
            raise stream.error(f"`{token.text}` is not an operand", token)
        return Sym(token.text)

    def _resolve(self) -> None:
        for index, scope, token in self._branches:
            instr = self.instrs[index]
            last = instr.operands[-1]
            name = last.name if isinstance(last, Sym) else token.text
            target = scope.label(name)
            if target is None:
                raise self.stream.error(f"no label `{name}` here", token)
            self.instrs[index] = Instr(
                index,
                instr.opcode,
                (*instr.operands[:-1], Label(name, target)),
                instr.guard,
                instr.guard_negated,
                instr.place,
            )


def _number(text: str) -> Imm:
    kind = text[:2].lower()
    if kind == "0f":
        return Imm(int(text[2:], 16), 32)
    if kind == "0d":
        return Imm(int(text[2:], 16), 64)
    if "." in text:
        return Imm(struct.unpack("<Q", struct.pack("<d", float(text)))[0], 64)
    return Imm(int(text.rstrip("U"), 0))
