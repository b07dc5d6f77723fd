"""Traces show what overlaps: v8's epilogue with the next tile's MMAs, v3's with nothing."""

from __future__ import annotations

import itertools
import json
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path
from typing import Any

import faults
import pytest
from click.testing import CliRunner

from gemmgen.cli import main
from gemmgen.emulate import Settings
from gemmgen.records import Triple
from gemmgen.report.trace_json import chrome_trace
from gemmgen.report.trace_svg import still
from gemmgen.run.trace import trace
from gemmgen.run.trial import Trial
from gemmgen.timeline import Span, Timeline

pytestmark = pytest.mark.compile
SHAPE = (256, 512, 64 * 7)
SVG = "{http://www.w3.org/2000/svg}"


def _trace(name: str, timing: str = "nominal", shape: Triple = SHAPE) -> Timeline:
    trial = Trial(faults.ROOT / "generated" / f"{name}.py")
    case, timeline = trace(trial, shape, Settings(timing=timing, sm_count=2))
    assert case.status == "passed", case.message
    return timeline


@pytest.fixture(scope="module")
def v3() -> Timeline:
    return _trace("v3_warp_specialized")


@pytest.fixture(scope="module")
def v8() -> Timeline:
    return _trace("v8_persistent")


def _of(timeline: Timeline, kind: str, state: str, sm: int = 0) -> list[Span]:
    return [
        span
        for span in timeline.spans
        if span.state == state
        and timeline.tracks[span.track].sm == sm
        and timeline.tracks[span.track].kind == kind
    ]


def _overlap(timeline: Timeline) -> float:
    """The share of the epilogue's time on SM 0, the last tile's apart, that has MMAs beside."""
    mma = _of(timeline, "mma", "mma")
    tiles = sorted(span.end for span in timeline.spans if span.done)
    busy = beside = 0.0
    for span in _of(timeline, "warp", "run"):
        if span.role == "epilogue" and tiles[0] <= span.start < tiles[-1]:
            busy += span.end - span.start
            beside += sum(max(0, min(span.end, m.end) - max(span.start, m.start)) for m in mma)
    assert busy > 0
    return beside / busy


def test_the_persistent_epilogue_runs_beside_the_next_mainloop(v8: Timeline) -> None:
    assert _overlap(v8) > 0.95
    mma = sorted(_of(v8, "mma", "mma"), key=lambda s: s.start)
    idle = sum(b.start - a.end for a, b in itertools.pairwise(mma))
    assert idle < 0.05 * (mma[-1].end - mma[0].start), "the tensor core goes from tile to tile"


def test_an_epilogue_that_follows_its_mainloop_runs_beside_nothing(v3: Timeline) -> None:
    assert _overlap(v3) == 0
    residents = sorted(_of(v3, "cta", "resident"), key=lambda s: s.start)
    assert len(residents) == 2, "SM 0 holds one CTA after the other"
    assert residents[0].end <= residents[1].start


def test_every_warp_and_unit_has_a_track_and_a_name(v8: Timeline) -> None:
    names = [track.name for track in v8.tracks if track.sm == 0]
    assert list(dict.fromkeys(names)) == [
        "CTA",
        "warp 5: producer",
        "TMA load",
        "warp 4: mma",
        "tensor core",
        *(f"warp {warp}: epilogue" for warp in range(4)),
    ]
    assert {track.sm for track in v8.tracks} == {0, 1}


def test_waits_are_named_by_barrier_and_slot(v8: Timeline) -> None:
    names: dict[str, set[str]] = defaultdict(set)
    for span in _of(v8, "warp", "wait"):
        names[v8.tracks[span.track].name].add(span.name)
    assert {"ab_empty[0]", "ab_empty[5]"} <= names["warp 5: producer"]
    assert {"ab_full[0]", "ab_full[3]"} <= names["warp 4: mma"]
    assert {"acc_full[0]", "acc_full[1]"} <= names["warp 2: epilogue"]


def test_loads_and_mmas_carry_their_slot_in_ring_order(v8: Timeline) -> None:
    for kind, state in (("mma", "mma"), ("tma", "load")):
        spans = sorted(_of(v8, kind, state), key=lambda s: s.start)
        assert [span.slot for span in spans] == [i % 6 for i in range(14)]
        assert all(f"ab_full[{span.slot}]" in span.name for span in spans)
    loads = sorted(_of(v8, "tma", "load"), key=lambda s: s.start)
    mma = sorted(_of(v8, "mma", "mma"), key=lambda s: s.start)
    assert all(load.end <= use.start for load, use in zip(loads, mma, strict=True))
    later = zip(loads[6:], mma, strict=False)
    assert all(use.end <= load.start for load, use in later), "a slot is refilled after its use"


@pytest.mark.parametrize("name", ["tirx/v2_k_loop", "tirx/v5_two_stage"])
def test_a_warp_with_every_role_shows_the_one_that_it_has(name: str) -> None:
    timeline = _trace(name, shape=(128, 128, 448))
    summed = max(span.end for span in _of(timeline, "mma", "mma"))
    runs = [s for s in _of(timeline, "warp", "run") if "warp 0" in timeline.tracks[s.track].name]
    loads = {s.role for s in runs if s.end <= summed}
    assert {"producer", "mma"} <= loads <= {"producer", "mma", ""}
    assert {s.role for s in runs if s.start >= summed} == {"epilogue"}


@pytest.mark.parametrize("timing", ["lazy", "random", "nominal"])
def test_no_two_spans_of_a_track_overlap_under_any_timing(timing: str) -> None:
    timeline = _trace("v6_multicast", timing)
    by_track: dict[int, list[Span]] = defaultdict(list)
    for span in timeline.spans:
        assert 0 <= span.start <= span.end <= timeline.end
        if span.end > span.start:
            by_track[span.track].append(span)
    assert len(by_track) == len(timeline.tracks)
    for spans in by_track.values():
        assert all(a.end <= b.start for a, b in itertools.pairwise(spans))


def test_a_clock_that_is_not_nominal_is_not_called_time(v8: Timeline) -> None:
    assert "not measured" in v8.clock
    assert "not time" in _trace("v6_multicast", "lazy").clock


def test_the_chrome_trace_has_complete_events_on_named_threads(v8: Timeline) -> None:
    document = json.loads(chrome_trace(v8))
    events = document["traceEvents"]
    threads = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    complete = [e for e in events if e["ph"] == "X"]
    assert {(e["pid"], e["tid"]) for e in complete} == threads
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in complete)
    assert {e["ph"] for e in events} == {"M", "X", "i"}
    colours = {e["args"]["slot"]: e["cname"] for e in complete if "slot" in e["args"]}
    assert len(set(colours.values())) == len(colours) == 6
    assert "not measured" in document["otherData"]["clock"]
    assert chrome_trace(v8) == chrome_trace(_trace("v8_persistent")), "equal runs, equal bytes"


def test_the_still_is_well_formed_reads_in_the_dark_and_keeps_to_its_axis(v8: Timeline) -> None:
    text = still(v8, sm=0, end=4000)
    root = ElementTree.fromstring(text)
    assert "prefers-color-scheme: dark" in text
    assert "nan" not in text.lower().replace("nano", "")
    width = float(root.attrib["width"])
    for rect in root.iter(f"{SVG}rect"):
        assert float(rect.get("x", 0)) + float(rect.attrib["width"]) <= width + 0.5
    shown = [text.text or "" for text in root.iter(f"{SVG}text")]
    for name in ("warp 5: producer", "tensor core", "acc_full[0]", "slot 5"):
        assert name in shown
    assert any("not measured" in line for line in shown)
    tiles = [line for line in shown if line.endswith("summed")]
    assert not tiles, "the first tile is finished after step 4000"
    whole = [t.text for t in ElementTree.fromstring(still(v8)).iter(f"{SVG}text")]
    assert [t for t in whole if t and t.endswith("summed")] == ["tile 0 summed", "tile 1 summed"]


def test_a_narrow_still_keeps_its_text_on_the_page(v3: Timeline) -> None:
    root = ElementTree.fromstring(still(v3, end=11000, width=500))
    assert float(root.attrib["width"]) == 500
    for text in root.iter(f"{SVG}text"):
        room = float(text.get("textLength", 6.1 * len(text.text or "")))
        if text.get("text-anchor") == "middle":
            room /= 2
        if text.get("text-anchor") != "end":
            assert float(text.attrib["x"]) + room <= 500, text.text
    lowest = max(float(text.attrib["y"]) for text in root.iter(f"{SVG}text"))
    assert lowest < float(root.attrib["height"])


def _invoke(*arguments: Any) -> Any:
    return CliRunner().invoke(main, ["trace", *map(str, arguments)])


def test_a_run_that_hangs_is_drawn_as_far_as_it_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(faults.ROOT)
    path = faults.commit_leaves_the_peer_out(tmp_path)
    out, svg = tmp_path / "hang.json", tmp_path / "hang.svg"
    run = _invoke(path, "--shape", "256,256,448", "-o", out, "--svg", svg, "--sm", 1)
    assert run.exit_code == 1
    assert "E201" in run.output
    events = json.loads(out.read_text())["traceEvents"]
    last = max(e["ts"] + e["dur"] for e in events if e["ph"] == "X")
    stuck = [e["name"] for e in events if e["ph"] == "X" and e["cat"] == "wait"]
    open_at_end = {
        e["name"] for e in events if e["ph"] == "X" and e["cat"] == "wait"
        and e["ts"] + e["dur"] >= last
    }  # fmt: skip
    assert stuck
    assert "ab_empty[0]" in open_at_end
    ElementTree.fromstring(svg.read_text())


def test_bad_input_is_refused_without_a_file(tmp_path: Path) -> None:
    kernel = faults.ROOT / "generated" / "v4_swizzle.py"
    out = tmp_path / "t.json"
    for arguments, message in (
        ((kernel, "--shape", "128,256,64"), "-o trace.json"),
        ((kernel, "--shape", "100,256,64", "-o", out), "refused"),
        ((kernel, "--shape", "128,256,64", "--svg", out, "--sm", 7), "uses SMs 0"),
        ((tmp_path / "none.py", "--shape", "128,256,64", "-o", out), "T404"),
        ((tmp_path, "--shape", "128,256,64", "-o", out), "T404"),
    ):
        run = _invoke(*arguments)
        assert run.exit_code == 2, run.output
        assert message in run.output
        assert "Traceback" not in run.output
        assert not out.exists()


@pytest.mark.parametrize("name", ["v3", "v8"])
def test_the_stills_of_the_docs_say_that_they_are_not_measured(name: str) -> None:
    text = (faults.ROOT / "docs" / "img" / f"trace_{name}.svg").read_text("utf-8")
    assert ElementTree.fromstring(text).tag == f"{SVG}svg"
    assert "not measured" in text
    assert f"img/trace_{name}.svg" in (faults.ROOT / "docs" / "trace.md").read_text("utf-8")
