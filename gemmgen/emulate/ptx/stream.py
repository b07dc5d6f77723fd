"""A cursor over tokens, with errors that quote the line."""

from __future__ import annotations

from gemmgen.emulate.errors import EmulationError, Place
from gemmgen.emulate.ptx.lexer import Token

_BYTES = {".pred": 1, "8": 1, "16": 2, "32": 4, "64": 8, "128": 16}


class Stream:
    """Tokens of a module and the lines that they came from."""

    def __init__(self, tokens: list[Token], lines: list[str]) -> None:
        self.tokens = tokens
        self.lines = lines
        self.position = 0
        self._end = Token("punct", "", len(lines))

    @property
    def more(self) -> bool:
        """Whether a token is left."""
        return self.position < len(self.tokens)

    def peek(self, ahead: int = 0) -> Token:
        """A token to come; an empty one at the end."""
        index = self.position + ahead
        return self.tokens[index] if index < len(self.tokens) else self._end

    def next(self) -> Token:
        """The next token. Raises E215 at the end of the text."""
        if self.position >= len(self.tokens):
            raise self.error("the text ends within a declaration", self._end)
        token = self.tokens[self.position]
        self.position += 1
        return token

    def accept(self, text: str) -> bool:
        """Take the next token if it reads so."""
        if self.peek().text == text:
            self.position += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Take the next token. Raises E215 when it reads otherwise."""
        token = self.next()
        if token.text != text:
            raise self.error(f"expected `{text}`, found `{token.text}`", token)

    def integer(self) -> int:
        """An unsigned integer literal. Raises E215."""
        token = self.next()
        if token.kind != "number":
            raise self.error(f"expected a number, found `{token.text}`", token)
        return int(token.text.rstrip("U"), 0)

    def skip_line(self, line: int) -> None:
        """Skip the tokens that are left on a line."""
        while self.more and self.peek().line == line:
            self.position += 1

    def place(self, line: int, source: str = "") -> Place:
        """The place of a line of the text."""
        text = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""
        return Place(line, text, source)

    def error(self, message: str, token: Token) -> EmulationError:
        """E215 at a token."""
        return EmulationError("E215", message, place=self.place(token.line))


def type_bytes(token: Token, stream: Stream) -> int:
    """Bytes of a fundamental type such as `.b32` or `.pred`."""
    size = _BYTES.get(token.text) or _BYTES.get(token.text[2:])
    if size is None:
        raise stream.error(f"`{token.text}` is not a type", token)
    return size
