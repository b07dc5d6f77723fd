"""The committed kernels: current, standalone, without residue, and diffs within their budget."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

import pytest

from gemmgen.render.diff import changed_regions, diff_texts
from gemmgen.render.regions import header_length, split_regions
from gemmgen.run.generate import generate
from gemmgen.spec import load_spec
from gemmgen.spec.find import all_specs, predecessor_of

ROOT = Path(__file__).parents[2]
SPECS = all_specs(ROOT)
STEPS = [(below, spec) for spec in SPECS if (below := predecessor_of(spec)) is not None]
ALLOWED_IMPORTS = {"sys", "torch", "cutlass", "cuda"}
HIDING_HELPERS = ("cutlass.pipeline", "SmemAllocator", "TmemAllocator", "make_smem_layout")
MEDIAN_BUDGET, STEP_BUDGET = 60, 150


def _name(path: Path) -> str:
    return path.relative_to(ROOT / "specs").with_suffix("").as_posix()


@pytest.fixture(params=SPECS, ids=_name)
def spec_path(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_committed_kernel_is_what_its_spec_renders_to(spec_path: Path) -> None:
    result = generate(spec_path)
    assert result.target.read_text(encoding="utf-8") == result.source


def test_rendering_twice_gives_the_same_bytes(spec_path: Path) -> None:
    assert generate(spec_path).source == generate(spec_path).source


def test_kernel_imports_nothing_of_gemmgen_and_no_hiding_helper(spec_path: Path) -> None:
    source = generate(spec_path).source
    roots = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            roots.add(node.module.split(".")[0])
    assert roots <= ALLOWED_IMPORTS
    assert not [helper for helper in HIDING_HELPERS if helper in source]


def test_kernel_has_no_template_residue_and_no_overlong_line(spec_path: Path) -> None:
    source = generate(spec_path).source
    assert not [mark for mark in ("{{", "{%", "{#", "\0", "Undefined") if mark in source]
    lines = source.splitlines()
    assert len(lines) <= 400
    assert max(map(len, lines)) <= 100


def test_kernel_sets_no_name_that_it_does_not_use(spec_path: Path) -> None:
    tree = ast.parse(generate(spec_path).source)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    fields = {node.target for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)}
    written = {name.id for name in names if isinstance(name.ctx, ast.Store) and name not in fields}
    assert written - read <= {"_"}


def test_cluster_code_appears_only_in_clusters(spec_path: Path) -> None:
    result = generate(spec_path)
    has_cluster = result.plan.geometry.cluster_size > 1
    assert ("cluster" in result.source.split('"""')[2]) == has_cluster or result.plan.persistent


def test_header_names_spec_digest_and_partials(spec_path: Path) -> None:
    source = generate(spec_path).source
    header = source.splitlines()[: header_length(source)]
    assert header[0] == f"# spec: {spec_path.relative_to(ROOT).as_posix()}"
    assert header[1].startswith("# digest: sha256:")
    assert header[2] == "# partials:"


def test_regions_come_in_the_order_of_the_design(spec_path: Path) -> None:
    order = ["preamble", "constants", "barriers", "storage", "setup"]
    result = generate(spec_path)
    regions = [region.name for region in split_regions(result.source)]
    assert "scheduler" not in regions or regions[4] == "scheduler"
    names = [name for name in regions if name != "scheduler"]
    assert names[:5] == order
    # Without tensor memory to free, a CTA is done with its stores.
    last = ["epilogue", "host"] if result.plan.tmem is None else ["epilogue", "teardown", "host"]
    assert names[-len(last) :] == last
    assert names[5 : -len(last)] in (["mainloop"], ["producer", "mma"])


@pytest.mark.parametrize(("below", "spec"), STEPS, ids=[_name(spec) for _, spec in STEPS])
def test_a_rung_changes_the_regions_that_its_lineage_names(below: Path, spec: Path) -> None:
    old, new = generate(below).source, generate(spec).source
    declared = {region.value for region in load_spec(spec).lineage.changes}
    assert changed_regions(old, new) == declared


def test_diffs_between_neighbours_stay_within_the_budget() -> None:
    ladders: dict[str, list[int]] = {}
    for below, spec in STEPS:
        changed = diff_texts(generate(below).source, generate(spec).source).changed
        ladders.setdefault(load_spec(spec).lineage.ladder, []).append(changed)
    for ladder, counts in ladders.items():
        assert statistics.median(counts) <= MEDIAN_BUDGET, (ladder, counts)
        assert max(counts) <= STEP_BUDGET, (ladder, counts)
