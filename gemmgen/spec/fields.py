"""Field types of the spec model: words, safe names, text for docstrings, arrays without repeats.

Each rule here needs one value only. A broken rule raises ``PydanticCustomError`` whose type is the
code of the finding and whose context carries the way out; `gemmgen.spec.errors` turns it into a
`Finding`.
"""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from collections.abc import Hashable
from enum import StrEnum
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError, PydanticKnownError

NAME_PATTERN = r"^[a-z][a-z0-9_]{0,62}$"
MAX_TITLE = 80
MAX_TEXT = 4000
MAX_TEXT_LINE = 110

# Device names of Windows: no file may have them as its stem, whatever the suffix.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{d}{i}" for d in ("com", "lpt") for i in range(10))}
# A generated file runs as a script, which puts its folder first on sys.path: a sibling with one of
# these names would be imported in place of the module.
_MODULES = {*sys.stdlib_module_names, "cuda", "cutlass", "gemmgen", "numpy", "torch"}
# Names that a generated kernel uses for something else, so that no barrier can have them; a test
# holds them against the committed kernels.
_USED = """
a b c d k m n t a_block a_mask a_row a_rows a_smem a_src a_tile acc acc_layout args argv b_block
b_column b_mask b_rows b_smem b_src b_tile check_problem chunk chunk_layout cluster clusters
column cpasync cta cta_m cta_n cta_rank cuda cute cutlass devices end from_dlpack full gemm
gemm_kernel hardware inner_stride is_leader k_block k_next k_tile k_tiles kernel lane load_atom
load_op m_step m_tile m_tiles main mask max_active_clusters n_step n_tile n_tiles name nvvm
phase rank read_op row row_stride scope self shapes size slot slot_phase smem source stage start
storage stream swizzle sys tcgen05 thread_idx tile tiled_mma tiles tma_a tma_b tmem tmem_load
tmem_read tmem_slot torch us warp warp_idx
a_sharers a_stride b_sharers b_stride acc_phase consumer copy_ab copy_atom copy_threads cta ctas
d_rows d_smem d_tile done_phase first free inside my_copy d_part rows store_op tile_at tma_d
ahead alone columns d_lane d_row from_smem k_end k_major last m_block m_store mma_op n_block
n_store own_layout part pending empty_mask leader_rank pair_mask multicast_op
 share_op shared stmatrix turn_phase warpgroup x y
"""
RESERVED = frozenset([*_USED.split(), *dir(builtins)])


class Table(BaseModel):
    """Base of every table: unknown keys refused, no coercion, immutable."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True
    )


def refuse(code: str, title: str, help_: str, **at: int | str) -> PydanticCustomError:
    context = {"title": title, "help": help_, **at}
    return PydanticCustomError(code, "{title}", context)


def _safe_name(name: str) -> str:
    if keyword.iskeyword(name):
        raise refuse("S106", f"unsafe name: `{name}` is a Python keyword", "choose another name")
    return name


def _file_name(name: str) -> str:
    if name in _DEVICES:
        raise refuse(
            "S106", f"unsafe name: `{name}` is a device name on Windows", "choose another name"
        )
    if name in _MODULES:
        title = f"unsafe name: a generated file `{name}.py` would hide the Python module `{name}`"
        raise refuse("S106", title, f"choose a longer name, for instance `{name}_gemm`")
    return name


def _barrier_name(name: str) -> str:
    if name in RESERVED:
        title = f"unsafe name: generated code may use `{name}` for something else"
        raise refuse(
            "S106", title, "say what the barrier guards and its state, for instance `ab_full`"
        )
    return name


def _text_fault(text: str, longest: int, one_line: bool) -> str:
    """What makes `text` unfit for a docstring, as a rule; empty when nothing does."""
    lines = text.splitlines()
    for bad, word in (('"', "double quotes"), ("\\", "backslashes")):
        if bad in text:
            return f"no {word}"
    if re.search(r"\{[{%#]|[}%#]\}", text):
        return "no template markers (`{{`, `{%`, `{#` and their ends)"
    if not all(line.isprintable() for line in text.split("\n")):
        return "printable characters and line feeds only"
    if not text.strip():
        return "not empty"
    if one_line and (len(lines) > 1 or text != text.strip()):
        return "one line, no space around it"
    if len(text) > longest:
        return f"at most {longest} characters, this has {len(text)}"
    if any(len(line) > MAX_TEXT_LINE for line in lines):
        return f"lines of at most {MAX_TEXT_LINE} characters"
    return ""


def _prose(text: str) -> str:
    if fault := _text_fault(text, MAX_TEXT, one_line=False):
        raise refuse("S110", "text that a docstring cannot hold", f"rule: {fault}")
    return text


def _line(text: str) -> str:
    if fault := _text_fault(text, MAX_TITLE, one_line=True):
        raise refuse("S110", "text that a docstring cannot hold", f"rule: {fault}")
    return text


def integer(value: object) -> object:
    """Refuse what equals an integer in Python and is none in TOML: ``true``, ``1.0``."""
    if isinstance(value, bool | float):
        raise PydanticKnownError("int_type")
    return value


T = TypeVar("T", bound=Hashable)
E = TypeVar("E", bound=StrEnum)


def _no_repeat(items: tuple[T, ...]) -> tuple[T, ...]:
    for i, item in enumerate(items):
        if item in items[:i]:
            title = f"the same entry twice: entries {items.index(item) + 1} and {i + 1} are equal"
            raise refuse("S109", title, "remove one of them", index=i)
    return items


SafeName = Annotated[str, Field(pattern=NAME_PATTERN), AfterValidator(_safe_name)]
FileName = Annotated[SafeName, AfterValidator(_file_name)]
BarrierName = Annotated[SafeName, AfterValidator(_barrier_name)]
# Length and characters are judged by the functions; editors learn of them from the schema.
Title = Annotated[
    str,
    AfterValidator(_line),
    Field(json_schema_extra={"pattern": r'^[^"\\\n]+$', "maxLength": MAX_TITLE}),
]
Prose = Annotated[
    str,
    AfterValidator(_prose),
    Field(json_schema_extra={"pattern": r'^[^"\\]+$', "maxLength": MAX_TEXT}),
]
# TOML gives strings and arrays where Python has enums and tuples: only these two are converted.
Word = Annotated[E, Field(strict=False)]
Seq = Annotated[
    tuple[T, ...],
    Field(strict=False, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_no_repeat),
]
