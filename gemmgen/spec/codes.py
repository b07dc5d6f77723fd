"""What each S code means, at length (`gemmgen explain`)."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "S100": """The file cannot be read as TOML: it is missing, no regular file, over 64 KiB, not
UTF-8, starts with a byte order mark, has a line over 512 characters, nests too deeply, or breaks
the grammar. TOML texts need double quotes, `true` and `false` are lower case, comments start with
`#`.""",
    "S101": """A mandatory key or table is missing. Specs are explicit: no key has a default that
changes the kernel. The way out says what belongs there.""",
    "S102": """The format has no such key. A key that nobody reads would be a wish that nobody
grants, so it is refused and never ignored.""",
    "S103": """The value has another type than the key needs. Nothing is converted: `"128"` is no
number, `1.0` and `true` are no integers.""",
    "S104": """The value has the right type and is none of the words or numbers that the key
allows.""",
    "S105": """The number, or the length of the array, is outside what any kernel could use.
Limits that depend on other keys are found later, by the plan's checks (P codes).""",
    "S106": """Names become file names and Python identifiers. A name has lower-case letters,
digits and `_`, starts with a letter, has at most 63 characters, is no Python keyword and no
device name of Windows. The name of a spec is no importable module either: a generated file runs
as a script, and its folder comes first on sys.path. The name of a barrier is none that generated
code uses for something else.""",
    "S107": """`name` and the stem of the file differ. The generated file has the same stem, so
the two must agree; renaming a file means renaming the kernel.""",
    "S108": """`schema` names the version of the format. This gemmgen reads version 1 alone.""",
    "S109": """Something is there twice: a key, a table, an entry of an array, or the name of a
barrier.""",
    "S110": """Titles and the texts of `[lineage]` become the docstring of the generated kernel,
and must not be able to end it or to look like a template: printable characters and line feeds, no
double quote, no backslash, no template markers; a title has one line of at most 80 characters,
other texts at most 4000 characters in lines of at most 110.""",
    "S111": """A version names itself as its predecessor.""",
    "S112": """The predecessor that a version names has no spec file in the same folder.""",
    "S113": """Following predecessors comes back to the same version, so the ladder has no first
rung.""",
    "S114": """A published figure is quoted as it was published: the time of one run, or a rate in
TFLOP/s, never both and never neither.""",
    "S119": """There are more findings than are worth printing; the first ones are shown.""",
    "S120": """No spec has this name. `gemmgen list` names those that there are.""",
    "S121": """The name is the start of several specs' names. Give more of it, or the path.""",
    "S130": """An assignment (`--set key=value`) that cannot be made: no `=`, a value that is no
TOML and no single word, or an entry that the array does not have.""",
    "S140": """The file is a spec but not in the one form. `gemmgen fmt` rewrites it: fixed order
of tables and keys, one blank line before each table; comments stay.""",
}
