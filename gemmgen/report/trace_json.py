"""A timeline as a Chrome trace, which https://ui.perfetto.dev and chrome://tracing open.

Format: "Trace Event Format" (Chromium project): complete events ``X``, instant events ``i`` and
metadata ``M``; times are microseconds there, and one step is shown as one microsecond.
"""

from __future__ import annotations

import json
from typing import Any

from gemmgen.timeline import Span, Timeline

# Colour names of chrome://tracing, by slot. Perfetto colours by name, and names have the slot.
SLOT_COLOURS = (
    "thread_state_running",
    "thread_state_iowait",
    "rail_response",
    "rail_animation",
    "rail_idle",
    "rail_load",
    "cq_build_passed",
    "yellow",
)
_STATE_COLOURS = {"wait": "grey", "run": "good", "resident": "generic_work", "store": "olive"}


def chrome_trace(timeline: Timeline) -> str:
    """The JSON document of a timeline: a process an SM, a thread a track."""
    events: list[dict[str, Any]] = []
    for sm in sorted({track.sm for track in timeline.tracks}):
        events.append(_named("process_name", sm, 0, f"SM {sm}"))
    for index, track in enumerate(timeline.tracks):
        events.append(_named("thread_name", track.sm, index, track.name))
        sort = {"name": "thread_sort_index", "ph": "M", "pid": track.sm, "tid": index}
        events.append({**sort, "args": {"sort_index": index}})
    events += [_event(span, timeline) for span in timeline.spans]
    document = {
        "displayTimeUnit": "ns",
        "otherData": {"title": timeline.title, "clock": f"1 us is 1 step; {timeline.clock}"},
        "traceEvents": events,
    }
    return json.dumps(document, separators=(",", ":"), sort_keys=True) + "\n"


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _event(span: Span, timeline: Timeline) -> dict[str, Any]:
    where = {"pid": timeline.tracks[span.track].sm, "tid": span.track, "ts": span.start}
    event: dict[str, Any] = {"name": span.name, "cat": span.state, "args": dict(span.args), **where}
    if span.state == "commit":
        return {**event, "ph": "i", "s": "t"}
    if span.slot >= 0:
        event["args"]["slot"] = str(span.slot)
        event["cname"] = SLOT_COLOURS[span.slot % len(SLOT_COLOURS)]
    elif span.state in _STATE_COLOURS:
        event["cname"] = _STATE_COLOURS[span.state]
    return {**event, "ph": "X", "dur": span.end - span.start}
