"""Plan -> the text of a standalone CuTe DSL file.

The skeleton ``templates/kernel.py.j2`` fixes the order of regions. What stands in each of its slots
is decided by `gemmgen.render.slots` from facts of the plan, before any template runs. Templates
only speak: every number and every choice is a field of the plan, and the words are in
`gemmgen.render.context`.

A partial is a *fill*, text at column 0 that ``fill("slot")`` brings in and the caller indents, or a
*wrap* (``….wrap.j2``), a macro around the body of a ``call wrap("slot")`` block. The skeleton
includes what every file has alike: header, constants and barrier map.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from gemmgen.plan import Plan
from gemmgen.render.bytecode import BytecodeFile
from gemmgen.render.context import build
from gemmgen.render.formatter import format_source
from gemmgen.render.slots import choose
from gemmgen.spec import digest
from gemmgen.terms import Finding, GemmgenError

if TYPE_CHECKING:
    from gemmgen.render.ablate import Ablation

SKELETON = "kernel.py.j2"
_EMPTY = "\0"


def templates_folder() -> Path:
    """Folder of the partials: in a checkout ``templates/``, in a wheel ``gemmgen/_templates/``."""
    package = Path(__file__).parents[1]
    packaged = package / "_templates"
    return packaged if packaged.is_dir() else package.parent / "templates"


@functools.cache
def _environment(folder: Path) -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        bytecode_cache=BytecodeFile(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def render(
    plan: Plan,
    *,
    spec_path: str,
    templates: Path | None = None,
    ablation: Ablation | None = None,
) -> str:
    """Print `plan` as the text of a generated file.

    Args:
        spec_path: path of the spec as the header shows it, relative to the project's root.
        templates: another folder of templates, for experiments and mutants.
        ablation: print the kernel with this removed or doubled; `plan` has its settings already.

    Returns:
        Formatted Python source; the same bytes for the same plan and templates.

    Raises:
        GemmgenError: R301, a partial asks for a fact that the plan does not have, or breaks a Jinja
            rule; R302, the result is not Python.
    """
    environment = _environment(templates or templates_folder())
    whole = choose(plan)
    slots = ablation.exchange(plan, whole) if ablation else whole
    context = build(plan, slots)
    context |= {
        "plan": plan,
        "spec_path": spec_path,
        "digest": digest(plan.spec),
        "ablation": (),
    }
    if ablation:
        context |= ablation.words(plan)
        context["base"] = _fill(environment, whole, context)
    context["fill"] = _fill(environment, slots, context)
    context["wrap"] = _wrap(environment, slots, context)
    try:
        text = environment.get_template(SKELETON).render(context)
    except jinja2.TemplateError as error:
        raise GemmgenError([_fault(plan, error)]) from error
    if isinstance(environment.bytecode_cache, BytecodeFile):
        environment.bytecode_cache.save()
    kept = (line for line in text.splitlines() if line.strip(" ") != _EMPTY)
    return format_source("\n".join(kept) + "\n", plan.spec.name)


def _fill(
    environment: jinja2.Environment, slots: dict[str, str], context: dict[str, Any]
) -> Callable[[str], str]:
    def fill(slot: str) -> str:
        if slot not in slots:
            return _EMPTY
        return environment.get_template(slots[slot]).render(context, slot=slot).rstrip("\n")

    return fill


def _wrap(
    environment: jinja2.Environment, slots: dict[str, str], context: dict[str, Any]
) -> Callable[..., str]:
    def wrap(slot: str, caller: Callable[[], str]) -> str:
        body = caller()
        if slot not in slots:
            return body
        margin = " " * (len(body) - len(body.lstrip(" ")))
        inner = textwrap.dedent(body).rstrip("\n")
        module: Any = environment.get_template(slots[slot]).make_module(context)
        wrapped = str(module.wrap(caller=lambda: inner))
        return textwrap.indent(wrapped, margin, lambda line: True)

    return wrap


def _fault(plan: Plan, error: jinja2.TemplateError) -> Finding:
    where = getattr(error, "name", None) or SKELETON
    return Finding(
        code="R301",
        title=f"the templates cannot print {plan.spec.name}: {error}",
        file=f"templates/{where}",
        line=getattr(error, "lineno", None) or 0,
        help="this is a fault in templates/ or in the plan, not in the spec",
    )
