"""What a command costs before it does anything: modules, and time beside its packages' time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gemmgen.cli import COMMANDS, main

ROOT = Path(__file__).parents[3]
QUICK = (("render", "v8", "--check"), ("check", "v8"), ("render", "tirx/v9", "--check"))
# What other commands stand on, and what is only for faults.
NEVER = {
    "asyncio",
    "concurrent.futures",
    "cuda",
    "cutlass",
    "difflib",
    "distributed",
    "multiprocessing",
    "numpy",
    "rich",
    "torch",
    "gemmgen.bench_records",
    "gemmgen.compile",
    "gemmgen.emulate",
    "gemmgen.gpu",
    "gemmgen.records",
    "gemmgen.report",
    "gemmgen.spec.errors",
    "gemmgen.spec.fmt",
    "gemmgen.spec.override",
    "gemmgen.spec.scan",
    "gemmgen.spec.walk",
    "gemmgen.timeline",
}
PACKAGES = """
import gc, os
gc.set_threshold(100_000, 10, 10)
import click, jinja2, subprocess, tomllib
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
import pydantic.plugin._loader, pydantic._internal._generate_schema
os._exit(0)
"""
# Measured 1.5 (2026-11-30, Python 3.11); it was 2.3 before commands left at once and a record
# compiled one method.
MOST = 1.9


def _imported(*args: str) -> set[str]:
    """Modules that `gemmgen` has imported when it ends."""
    code = (
        "import atexit, json, sys\n"
        "from gemmgen.console import run\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
        "run()\n"
    )
    command = [sys.executable, "-c", code, *args]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr))


@pytest.mark.parametrize("args", QUICK)
def test_a_good_spec_needs_nothing_that_is_for_others_or_for_faults(args: tuple[str, ...]) -> None:
    modules = _imported(*args)
    assert {"pydantic", "gemmgen.check.protocol"} <= modules
    assert modules & NEVER == set()


def test_a_check_needs_no_template_engine() -> None:
    assert _imported("check", "v8") & {"jinja2", "gemmgen.render.engine"} == set()


def test_help_is_shown_without_importing_a_command() -> None:
    modules = _imported("--help")
    assert {name for name in modules if name.startswith("gemmgen.cli.")} == {"gemmgen.cli.failures"}
    assert modules & {"pydantic", "jinja2"} == set()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_says_of_a_command_what_it_says_of_itself(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.get_short_help_str(limit=1000) == COMMANDS[name]


def test_records_on_the_way_to_a_kernel_compile_one_method_each() -> None:
    code = (
        "import dataclasses, sys\n"
        "from gemmgen.cli import main\n"
        "main(['render', 'v8', '--check'], standalone_mode=False)\n"
        "for name in sorted(sys.modules):\n"
        "    if name.startswith('gemmgen.'):\n"
        "        for kind in vars(sys.modules[name]).values():\n"
        "            own = getattr(kind, '__module__', '') == name\n"
        "            if own and isinstance(kind, type) and dataclasses.is_dataclass(kind):\n"
        "                print(name, kind.__name__, kind.__eq__.__module__)\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = [line.split() for line in done.stdout.splitlines() if line.startswith("gemmgen.")]
    assert len(found) > 50
    assert [line for line in found if line[2] != "gemmgen.frozen"] == [
        ["gemmgen.terms", "Finding", "gemmgen.terms"]
    ]


def test_rendering_takes_little_more_than_importing_the_packages_it_stands_on() -> None:
    """Processor time, not wall time, of the two in turn: a slow or a busy machine slows both."""
    resource = pytest.importorskip("resource")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def seconds(*args: str) -> float:
        command = [sys.executable, *args]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return float(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    packages, render = [], []
    for _ in range(20):
        packages.append(seconds("-c", PACKAGES))
        render.append(seconds("-m", "gemmgen", "render", "v8", "--check"))
        if len(render) >= 3 and min(render) < MOST * min(packages):
            return
    pytest.fail(f"{min(render):.3f} s against {min(packages):.3f} s for the packages alone")
