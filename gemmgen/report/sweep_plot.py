"""Curves of a sweep with bands of noise, drawn by Matplotlib (the `plot` extra)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gemmgen.terms import Finding, GemmgenError


@dataclass(frozen=True)
class Curve:
    """One line of a plot.

    Attributes:
        label: values of the other keys.
        xs: values of the first key, as text, in order.
        ys: rate over that of cuBLAS in the same run.
        bands: half the width of the band around each, absolute: noise.
    """

    label: str
    xs: tuple[str, ...]
    ys: tuple[float, ...]
    bands: tuple[float, ...]


def draw(
    title: str, key: str, panels: Sequence[tuple[str, Sequence[Curve]]], form: str = "svg"
) -> bytes:
    """A picture with a panel a shape, as ``svg`` or ``png``.

    Args:
        title: names the spec and the device.
        key: of the x axis.
        panels: shape and its curves.

    Raises:
        GemmgenError: T443, Matplotlib is not installed.
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        help_ = "install the `plot` extra: python -m pip install 'gemmgen[plot]'"
        finding = Finding("T443", "Matplotlib is not installed, so nothing is drawn", help=help_)
        raise GemmgenError([finding]) from None
    settings: dict[Any, Any] = {"svg.hashsalt": "gemmgen", "svg.fonttype": "none", "font.size": 9}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(4.6 * max(1, len(panels)), 3.6), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, max(1, len(panels)), squeeze=False)[0]
        figure.suptitle(title)
        for axis, (shape, curves) in zip(axes, panels, strict=False):
            _panel(axis, shape, key, curves)
        out = io.BytesIO()
        metadata = {"Date": None} if form == "svg" else None
        figure.savefig(out, format=form, dpi=130, metadata=metadata)
    return out.getvalue()


def _panel(axis: Any, shape: str, key: str, curves: Sequence[Curve]) -> None:
    ticks = list(dict.fromkeys(x for curve in curves for x in curve.xs))
    for curve in curves:
        xs = [ticks.index(x) for x in curve.xs]
        low = [y - band for y, band in zip(curve.ys, curve.bands, strict=True)]
        high = [y + band for y, band in zip(curve.ys, curve.bands, strict=True)]
        (line,) = axis.plot(xs, curve.ys, marker="o", markersize=3, label=curve.label or None)
        axis.fill_between(xs, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    axis.axhline(1.0, color="0.5", linewidth=0.8, linestyle="--")
    axis.set_xticks(range(len(ticks)), ticks)
    axis.set(title=shape, xlabel=key, ylabel="rate / cuBLAS (band: noise)")
    if any(curve.label for curve in curves):
        axis.legend(fontsize=7)
