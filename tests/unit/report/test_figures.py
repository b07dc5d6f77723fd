"""Figures show what is in their records, name them, and say what is only published."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from gemmgen.bench_records import BenchRecord, Entry, ShapeRecord, State
from gemmgen.report.page.charts import Bar, bars
from gemmgen.report.page.documents import Documents, Named, read_documents
from gemmgen.report.page.experiments import ablation_figures, sweep_figures
from gemmgen.report.page.figure import Figure, Quoted, short
from gemmgen.report.page.figures import all_figures
from gemmgen.report.page.ladder import ladder_figures, tuned_figures
from gemmgen.report.page.page import figure_html
from gemmgen.report.page.scale import Scale

QUOTED = [Quoted("cute", "v8_persistent", "B200", "4096³", 1402.4)]


def _texts(figure: Figure) -> list[str]:
    return [node.text or "" for node in ET.fromstring(figure.svg.alone()).iter() if node.text]


@pytest.fixture
def figures(root: Path) -> list[Figure]:
    return all_figures(read_documents([root / "docs/records"], root), QUOTED)


def test_every_figure_is_well_formed_and_has_a_name_of_its_own(figures: list[Figure]) -> None:
    assert len({figure.id for figure in figures}) == len(figures) > 8
    for figure in figures:
        ET.fromstring(figure.svg.alone())
        ET.fromstring(figure.svg.inline())
        assert re.fullmatch(r"[a-z0-9-]+", figure.id)


def test_every_figure_names_its_record_or_says_that_it_is_published(
    figures: list[Figure],
) -> None:
    for figure in figures:
        html = figure_html(figure)
        assert figure.source in html
        if figure.section == "published":
            assert "published, not measured here" in html
        elif figure.id != "tuned-ratio":
            assert re.search(r"docs/records/\w+\.json", figure.source)


def test_a_figure_in_a_file_of_its_own_names_its_record_too(figures: list[Figure]) -> None:
    for figure in figures:
        shown = [n.text or "" for n in ET.fromstring(figure.file.alone()).iter() if n.text]
        assert any(figure.title in text for text in shown)
        assert figure.source in " ".join(shown)


def test_nothing_is_drawn_outside_of_a_figure(figures: list[Figure]) -> None:
    for figure in figures:
        for node in ET.fromstring(figure.svg.alone()).iter():
            for key, limit in (("x", figure.svg.width), ("y", figure.svg.height)):
                if key in node.attrib:
                    assert -1 <= float(node.attrib[key]) <= limit + 1, (figure.id, node.attrib)


def test_a_ladder_has_every_kernel_with_its_time(root: Path) -> None:
    path = root / "docs/records/h200_hopper_ladder.json"
    documents = read_documents([path], root)
    record = documents.benches[0].record
    time = next(figure for figure in all_figures(documents, ()) if "time" in figure.id)
    for entry in record.shapes[0].entries:
        if entry.name not in ("cublas", "cublas_again"):
            assert entry.name in _texts(time)
            assert f"{entry.microseconds:,.0f} µs" in _texts(time)


def _ladder_run(name: str, noise: float, rate: float, *, alone: bool = False) -> Named[BenchRecord]:
    """A run of three rungs and cuBLAS at one shape; its time and its ceiling follow `rate`."""
    entries = tuple(
        Entry(kernel, "", 1e3 / rate, 0.001, 1.0, rate, 1.0, 0.5, 0.0, "same", False, ())
        for kernel in ("cublas", "h1_kloop", "h2_tma", "h3_pipeline")
    )
    state = State(1500, 3000, 700, 60, 100.0, 20.0)
    readings = {entry.name: state for entry in entries} if alone else {}
    shape = ShapeRecord((512, 512, 512), 1, noise, entries, alone=readings)
    device = {"name": "NVIDIA H200"}
    record = BenchRecord(device, {}, "2026-11-30", 4.0, rate, (shape,))
    return Named(f"docs/records/{name}.json", record)


def test_of_several_runs_the_one_of_least_noise_is_drawn_under_its_own_ceiling() -> None:
    runs = [_ladder_run("a", 0.14, 100.0), _ladder_run("b", 0.01, 200.0)]
    time, ratio, roof = ladder_figures(runs)
    assert _texts(time).count("5 µs") == 4
    assert "docs/records/b.json" in time.source
    assert "docs/records/a.json" not in time.source + ratio.source + roof.source
    assert any("measured: 200 TFLOP/s" in text for text in _texts(roof))


def test_times_beside_readings_alone_are_drawn_only_where_no_other_run_has_the_shape() -> None:
    alone = _ladder_run("a", 0.001, 100.0, alone=True)
    time, _, roof = ladder_figures([alone, _ladder_run("b", 0.02, 200.0)])
    assert "docs/records/a.json" not in time.source + roof.source
    (time, *_) = ladder_figures([alone])
    assert "docs/records/a.json" in time.source


def test_no_time_or_ceiling_of_the_ladder_is_from_the_run_of_activity(
    figures: list[Figure],
) -> None:
    drawn = [figure for figure in figures if figure.section in ("ladder", "profile")]
    assert any("roofline" in figure.id for figure in drawn)
    assert not [figure.id for figure in drawn if "h200_activity" in figure.source]


def test_a_run_of_another_spec_of_that_name_is_not_called_the_same_again() -> None:
    def run(name: str, digest: str) -> Named[BenchRecord]:
        entry = Entry("h200_x", digest, 5.0, 0.01, 1.1, 1.0, 1.0, 0.5, 0.0, "faster", False, ())
        shape = ShapeRecord((512, 512, 512), 1, 0.01, (entry,))
        settle = 40.0 if digest == "y" else 0.0
        device = {"name": "d"}
        return Named(name, BenchRecord(device, {}, "today", 4.0, 1.0, (shape,), settle_ms=settle))

    (figure,) = tuned_figures([run("a.json", "x"), run("b.json", "x"), run("c.json", "y")])
    assert {"512³", "again, run 2", "another spec, run 3"} <= set(_texts(figure))
    assert "run 3 of another spec" in figure.points[2]
    assert ["settled 40 ms" in point for point in figure.points] == [False, False, True]


def test_keys_that_end_alike_are_whole_in_a_legend(sweep: dict[str, Any]) -> None:
    for point in sweep["points"]:
        point["values"] |= {"tile.n": 256, "mma.n": 256} if point["values"] else {}
    (figure,) = sweep_figures(Named("s.json", sweep))
    assert "group_m 8, tile.n 256, mma.n 256" in _texts(figure)


def test_published_figures_are_hollow_and_never_beside_measured_ones() -> None:
    (figure,) = all_figures(Documents(), QUOTED)
    assert figure.section == "published"
    assert 'class="published"' in figure.svg.inline()
    assert 'class="f0"' not in figure.svg.inline()
    assert "1,402" in _texts(figure)


def test_a_sweep_has_a_curve_with_a_band_for_each_value_of_the_other_keys(
    sweep: dict[str, Any],
) -> None:
    (figure,) = sweep_figures(Named("s.json", sweep))
    svg = figure.svg.inline()
    assert svg.count('class="curve ') == svg.count('class="band ') == 2
    assert "group_m 8" in svg
    assert "1 refused" in figure.note
    assert figure.points == (
        "Best at 512³: ab_stages 4, group_m 8, 5.0% faster than ab_stages 3, "
        "group_m 8; noise 2.0%.",
    )


def test_a_best_within_the_noise_is_not_called_best(sweep: dict[str, Any]) -> None:
    sweep["finals"]["512x512x512"] |= {"clear": False, "gain": 0.01}
    (figure,) = sweep_figures(Named("s.json", sweep))
    assert figure.points[0].startswith("No clear best")
    assert "within the noise of 2.0%" in figure.points[0]


def test_a_sweep_over_words_has_a_row_for_each_shape_and_word(sweep: dict[str, Any]) -> None:
    sweep["points"] = [sweep["points"][0], sweep["points"][5]]
    for point, swizzle in zip(sweep["points"], ("none", "128b"), strict=True):
        point["values"] = {
            "smem.swizzle": swizzle,
            "load.multicast": [] if swizzle == "none" else None,
        }
    sweep["finals"] = {}
    (figure,) = sweep_figures(Named("s.json", sweep))
    assert {"512³: none", "512³: 128b"} <= set(_texts(figure))


def test_ablations_tell_gemms_from_what_is_none(ablation: dict[str, Any]) -> None:
    (figure,) = ablation_figures(Named("a.json", ablation))
    svg = figure.svg.inline()
    assert svg.count('class="f1"') == 1
    assert svg.count('class="f2"') == 1
    says = "the loads alone take 83% of the time, at 12.0 TB/s into shared memory"
    assert f"loads_only: {says}." in figure.points
    assert "h9_persistent" in figure.title


def test_bars_are_as_long_as_their_values() -> None:
    rows = [Bar("a", 1.0, "1"), Bar("b", 2.0, "2"), Bar("c", 4.0, "4")]
    drawn = ET.fromstring(bars("t", rows, unit="u").inline())
    widths = [float(n.attrib["width"]) for n in drawn.iter("rect") if n.attrib["class"] == "f0"]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)
    assert widths[2] == pytest.approx(4 * widths[0], abs=0.3)


@pytest.mark.parametrize(("low", "high"), [(0, 1.07), (0, 112), (0.95, 1.2), (3, 70000)])
def test_ticks_are_few_round_and_inside(low: float, high: float) -> None:
    ticks = Scale(low, high, 0, 100).ticks()
    assert 2 <= len(ticks) <= 7
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in ticks)


def test_rungs_are_short_and_other_kernels_whole() -> None:
    assert short("h10_pingpong") == "h10"
    assert short("h200_4096x4096x4096") == "tuned"
    assert short("h7_multicast_n") == "h7n"
    assert short("cublas") == "cublas"
