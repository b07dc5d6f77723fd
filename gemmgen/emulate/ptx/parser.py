"""PTX text -> Module. Grammar: PTX ISA, "Syntax" and "State Spaces, Types, and Variables"."""

from __future__ import annotations

import re

from gemmgen.emulate.errors import EmulationError, Place
from gemmgen.emulate.ptx.body import BodyParser
from gemmgen.emulate.ptx.lexer import Token, tokenize
from gemmgen.emulate.ptx.model import Kernel, Module, Param, SharedVar
from gemmgen.emulate.ptx.stream import Stream, type_bytes

_FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"')


def parse(text: str) -> Module:
    """Parse a PTX module. Raises EmulationError E215 with the line that cannot be read."""
    lines = text.splitlines()
    tokens = tokenize(text)
    files = _files(tokens)
    stream = Stream([t for t in tokens if not t.text.startswith(".file")], lines)
    shared: list[SharedVar] = []
    kernels: dict[str, Kernel] = {}
    target = ""
    while stream.more:
        token = stream.next()
        if token.text == ".target":
            target = stream.next().text
            stream.skip_line(token.line)
        elif token.text in (".version", ".address_size"):
            stream.skip_line(token.line)
        elif token.text == ".shared":
            shared.append(variable(stream))
        elif token.text == ".entry":
            kernel = _entry(stream, shared, files)
            kernels[kernel.name] = kernel
        elif token.text == ".func" or token.text == ".section":
            _skip_block(stream)
        elif token.text in (".global", ".const"):
            while stream.next().text != ";":
                pass
    if not kernels:
        raise EmulationError("E215", "the text has no .entry")
    return Module(target, kernels)


def _files(tokens: list[Token]) -> dict[int, str]:
    files = {}
    for token in tokens:
        found = _FILE.match(token.text) if token.kind == "line" else None
        if found:
            files[int(found.group(1))] = found.group(2)
    return files


def variable(stream: Stream) -> SharedVar:
    """`.align 16 .b8 name[64];` after its state space; size None for `[]`."""
    align, width = 0, 1
    token = stream.next()
    while token.text.startswith("."):
        if token.text == ".align":
            align = stream.integer()
        elif token.text in (".v2", ".v4"):
            width *= int(token.text[2:])
        else:
            width *= type_bytes(token, stream)
        token = stream.next()
    name, size = token.text, width
    count: int | None = 1
    while stream.accept("["):
        if stream.accept("]"):
            count = None
            continue
        number = stream.integer()
        count = None if count is None else count * number
        stream.expect("]")
    stream.expect(";")
    return SharedVar(name, align or width, None if count is None else size * count)


def _entry(stream: Stream, shared: list[SharedVar], files: dict[int, str]) -> Kernel:
    name = stream.next().text
    params = _params(stream) if stream.accept("(") else ()
    required: tuple[int, int, int] | None = None
    min_ctas = 0
    while not stream.accept("{"):
        token = stream.next()
        if token.text == ".reqntid":
            sizes = [stream.integer()]
            while stream.accept(","):
                sizes.append(stream.integer())
            x, y, z = (*sizes, 1, 1)[:3]
            required = (x, y, z)
        elif token.text == ".minnctapersm":
            min_ctas = stream.integer()
        elif token.text == ";":
            raise stream.error("an .entry without a body", token)
    body = BodyParser(stream, files, params, shared, variable)
    body.run()
    return Kernel(
        name=name,
        params=params,
        instrs=tuple(body.instrs),
        registers=len(body.slots.names),
        names=tuple(body.slots.names),
        bits=tuple(body.slots.bits),
        shared=(*shared, *body.shared),
        local=tuple(body.local),
        reqntid=required,
        min_ctas=min_ctas,
    )


def _params(stream: Stream) -> tuple[Param, ...]:
    params = []
    offset = 0
    while not stream.accept(")"):
        align, size = 0, 1
        token = stream.next()
        while token.text.startswith("."):
            if token.text == ".align":
                align = stream.integer()
            elif token.text == ".ptr":
                _skip_pointer(stream)
            elif token.text != ".param":
                size = type_bytes(token, stream)
            token = stream.next()
        align = align or size
        if stream.accept("["):
            size *= stream.integer()
            stream.expect("]")
        offset = -(-offset // align) * align
        params.append(Param(token.text, offset, size))
        offset += size
        stream.accept(",")
    return tuple(params)


def _skip_pointer(stream: Stream) -> None:
    while stream.peek().text in (".global", ".shared", ".const", ".local", ".generic"):
        stream.next()


def _skip_block(stream: Stream) -> None:
    """Skip to the end of the next `{…}` or to a `;` before it."""
    depth = 0
    while stream.more:
        token = stream.next()
        if token.text == "{":
            depth += 1
        elif token.text == "}":
            depth -= 1
            if not depth:
                return
        elif token.text == ";" and not depth:
            return


__all__ = ["Place", "parse"]
