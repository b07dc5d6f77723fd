"""The page in a real browser: quick, quiet, and no wider than a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from gemmgen.cli import main
from gemmgen.report.page.browser import Browser, find_browser

BROWSER = pytest.mark.skipif(find_browser() is None, reason="no Chromium is installed here")
COMPLAINTS = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the committed records."""
    path = tmp_path_factory.mktemp("report") / "page.html"
    root = Path(__file__).parents[3]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        result = CliRunner().invoke(main, ["report", "-o", str(path)])
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as open_browser:
        yield open_browser


def test_the_page_stands_alone_and_is_small(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.encode()) < 3e6
    assert "<script" not in text
    linked = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert all(link.startswith(("#", "data:")) for link in linked)
    assert not re.search(r"url\(|@import", text)


def test_links_inside_the_page_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)


def test_the_page_has_sections_for_what_the_records_hold(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for section in ("ladder", "published", "profile", "traces", "resources", "diffs"):
        assert f'<section id="{section}">' in text


def test_the_page_says_what_its_odd_figures_are(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "in which cuBLAS differed from itself by 13.6%" in text
    assert "16 named barriers: one has an id that is computed" in text


@BROWSER
def test_the_best_of_ten_loads_is_quiet_and_under_a_second(page: Path, browser: Browser) -> None:
    browser.resize(1280, 900)
    seconds: list[float] = []
    while len(seconds) < 10 and min(seconds, default=9.0) >= 1.0:  # others use this machine too
        before = len(browser.events)
        browser.open(page.as_uri())
        timing = "performance.getEntriesByType('navigation')[0].loadEventEnd"
        seconds.append(browser.evaluate(timing) / 1e3)
        noise = [event for event in browser.events[before:] if event[0] in COMPLAINTS]
        asked = [
            parameters["request"]["url"]
            for name, parameters in browser.events[before:]
            if name == "Network.requestWillBeSent"
        ]
        assert noise == []
        assert all(url.startswith(("file:", "data:")) for url in asked)
    assert min(seconds) < 1.0, seconds


@BROWSER
@pytest.mark.parametrize("width", [390, 768, 1280, 1920])
def test_nothing_is_wider_than_the_window(page: Path, browser: Browser, width: int) -> None:
    browser.resize(width, 844, mobile=width < 600)
    browser.open(page.as_uri())
    browser.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert browser.evaluate(OVERFLOW) <= 0
    wide = "(n => n.scrollWidth - n.clientWidth)(document.querySelector('nav'))"
    assert width < 1280 or browser.evaluate(wide) <= 0, "links of the heading do not fit"
    small = (
        "Math.min(...[...document.querySelectorAll('figure svg')]"
        ".map(svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width))"
    )
    assert browser.evaluate(small) * 11 > 9, "text of figures is too small to read"


@BROWSER
def test_dark_and_light_differ_and_keep_text_readable(page: Path, browser: Browser) -> None:
    grounds = {}
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        browser.open(page.as_uri())
        grounds[scheme] = browser.evaluate(BACKGROUND)
        ink = browser.evaluate("getComputedStyle(document.querySelector('h2')).color")
        assert _contrast(ink, grounds[scheme]) > 7
        label = browser.evaluate("getComputedStyle(document.querySelector('svg .dim')).fill")
        assert _contrast(label, grounds[scheme]) > 4.5
    browser.prefer("light")
    assert grounds["light"] != grounds["dark"]


def _contrast(first: str, second: str) -> float:
    """WCAG 2 contrast of two ``rgb(…)`` colours."""
    lights = sorted(_light(colour) for colour in (first, second))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _light(colour: str) -> float:
    channels = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@BROWSER
def test_figures_become_svg_and_png_files(tmp_path: Path, root: Path) -> None:
    name = "ladder-roofline"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        arguments = ["report", "--figures", str(tmp_path), "--only", name]
        result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / f"{name}.svg").read_text("utf-8")


def test_a_figure_that_is_not_there_is_refused_by_name(tmp_path: Path, root: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        arguments = ["report", "--figures", str(tmp_path), "--only", "nope", "--no-png"]
        result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "T471" in result.output


def test_without_a_browser_png_files_are_refused_and_svg_files_written(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMMGEN_BROWSER", "no-such-browser")
    monkeypatch.chdir(root)
    arguments = ["report", "--figures", str(tmp_path), "--only", "published-cute"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "T472" in result.output
    assert (tmp_path / "published-cute.svg").is_file()
