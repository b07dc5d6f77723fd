"""PTX text -> tokens with line numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r\f]+|//[^\n]*|/\*.*?\*/)
    |(?P<newline>\n)
    |(?P<line>\.(?:loc|file)\b[^\n]*)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<number>0[fFdD][0-9A-Fa-f]+|0[xX][0-9A-Fa-f]+U?|0[bB][01]+U?|\d+\.\d+(?:[eE][+-]?\d+)?|\d+U?)
    |(?P<word>[.%$A-Za-z_][\w$]*(?:(?:\.|::)[\w$]+)*)
    |(?P<punct>[{}()\[\]<>,;:@!|+\-=*/&^~?])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """``kind`` is word, number, string, line (.loc and .file) or punct."""

    kind: str
    text: str
    line: int


def tokenize(text: str) -> list[Token]:
    """All tokens of a PTX text. An unknown character becomes a punct token; the parser refuses
    it.
    """
    tokens = []
    line = 1
    position = 0
    length = len(text)
    match = _TOKEN.match
    while position < length:
        found = match(text, position)
        if found is None:
            tokens.append(Token("punct", text[position], line))
            position += 1
            continue
        kind = found.lastgroup or "skip"
        value = found.group()
        if kind == "newline":
            line += 1
        elif kind == "skip":
            line += value.count("\n")
        else:
            tokens.append(Token(kind, value, line))
        position = found.end()
    return tokens
