"""The page: sections of figures and tables, one file that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from gemmgen.report.page.diffs import Step, step_html
from gemmgen.report.page.documents import Documents
from gemmgen.report.page.figure import Figure
from gemmgen.report.page.svg import style
from gemmgen.report.page.tables import activity_html, regimes_html, resources_html

MANY_POINTS = 12
SECTIONS = {
    "ladder": (
        "The ladder",
        "What each change brings, measured in one interleaved run a record.",
    ),
    "regimes": (
        "When each change helps",
        "Gain of each rung over the one below, by regime: what helps prefill may not help decode.",
    ),
    "published": (
        "Published figures",
        "What the write-ups that the ladders follow report. Quoted, not measured here.",
    ),
    "sweeps": ("Sweeps", "Every combination of some keys of a spec, verified and then timed."),
    "ablations": (
        "Ablations",
        "The same kernel, from the same templates, with one thing removed or doubled.",
    ),
    "profile": ("Counters across rungs", "What limits each rung, and why its warps wait."),
    "activity": (
        "Activity is not utilisation",
        "A GPU can be active all the time and its tensor cores idle for most of it.",
    ),
    "traces": ("Traces", "Who does what when, in the emulator's nominal timing: not measured."),
    "resources": ("Resources", "What each kernel uses, and where it was equal to torch."),
    "diffs": ("Neighbours side by side", "Each step of each ladder as code. Open one to read it."),
}


@dataclass(frozen=True)
class Still:
    """A trace as a picture.

    Attributes:
        title: heading.
        source: file that it is.
        svg: its text.
    """

    title: str
    source: str
    svg: str


@dataclass(frozen=True)
class Content:
    """What a page is made of."""

    title: str
    documents: Documents
    figures: Sequence[Figure]
    steps: Sequence[Step] = ()
    stills: Sequence[Still] = ()


def page_html(content: Content) -> str:
    """The whole page; sections without content are left out."""
    bodies = {name: _body(name, content) for name in SECTIONS}
    shown = [name for name, body in bodies.items() if body]
    links = "".join(f'<li><a href="#{name}">{escape(SECTIONS[name][0])}</a>' for name in shown)
    sections = "".join(
        f'<section id="{name}"><h2>{escape(SECTIONS[name][0])}</h2>'
        f'<p class="lead">{escape(SECTIONS[name][1])}</p>{bodies[name]}</section>\n'
        for name in shown
    )
    title = escape(content.title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{title}</title><style>{style('figure.css')}{style('page.css')}</style></head><body>\n"
        f"<header><h1>{title}</h1>{_lead(content)}</header>\n<nav><ul>{links}</ul></nav>\n"
        f"<main>{sections}</main>\n{_footer(content)}</body></html>\n"
    )


def _lead(content: Content) -> str:
    documents = content.documents
    devices = {
        str(named.record.device.get("name", "")): None
        for named in documents.benches
        if named.record.device
    }
    where = f" Measured on {escape(', '.join(devices))}." if devices else ""
    return (
        '<p class="lead">Kernels generated from TOML specs as CuTe DSL source, and what was found '
        f"out about them.{where} Every figure names its record.</p>"
    )


def _body(name: str, content: Content) -> str:
    figures = [figure for figure in content.figures if figure.section == name]
    parts = []
    if figures:
        parts.append(f'<div class="figures">{"".join(map(figure_html, figures))}</div>')
    if name == "regimes":
        parts += [regimes_html(named) for named in content.documents.benches]
    if name == "activity":
        parts += [activity_html(named) for named in content.documents.benches]
    if name == "resources":
        parts.append(resources_html(content.documents.tests))
    if name == "traces":
        parts += [_still(still) for still in content.stills]
    if name == "diffs":
        parts.append(_ladders(content.steps))
    return "".join(parts)


def figure_html(figure: Figure) -> str:
    """A figure with heading, caption, drawing, findings and the name of its record."""
    published = figure.section == "published"
    badge = '<span class="badge">published, not measured here</span>' if published else ""
    points = f"<ul>{''.join(f'<li>{escape(point)}' for point in figure.points)}</ul>"
    if len(figure.points) > MANY_POINTS:
        points = f"<details><summary>In words</summary>{points}</details>"
    return (
        f'<figure id="{figure.id}"{" class=published" if published else ""}>'
        f"<h3>{escape(figure.title)}{badge}</h3><figcaption>{escape(figure.note)}</figcaption>"
        f"{figure.svg.inline()}{points if figure.points else ''}"
        f'<p class="record">{escape(figure.source)}</p></figure>'
    )


def _still(still: Still) -> str:
    data = base64.b64encode(still.svg.encode("utf-8")).decode("ascii")
    return (
        f'<div class="still"><h3>{escape(still.title)}</h3>'
        f'<img loading="lazy" alt="{escape(still.title)}" src="data:image/svg+xml;base64,{data}">'
        f'<p class="record">{escape(still.source)}</p></div>'
    )


def _ladders(steps: Sequence[Step]) -> str:
    out = []
    for ladder in dict.fromkeys(step.ladder for step in steps):
        own = [step_html(step) for step in steps if step.ladder == ladder]
        out.append(f"<h4>Ladder {escape(ladder)}</h4>{''.join(own)}")
    return "".join(out)


def _footer(content: Content) -> str:
    others = content.documents.others
    left = f" Not shown here: {escape(', '.join(others))}." if others else ""
    return f"<footer>Made by <code>gemmgen report</code>.{left}</footer>\n"
