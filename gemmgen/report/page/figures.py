"""Every figure that some records have the data for."""

from __future__ import annotations

from collections.abc import Sequence

from gemmgen.report.page.counters import (
    activity_figures,
    prediction_figures,
    profile_figures,
    traffic_figures,
)
from gemmgen.report.page.documents import Documents
from gemmgen.report.page.experiments import ablation_figures, sweep_figures
from gemmgen.report.page.figure import Figure, Quoted
from gemmgen.report.page.ladder import ladder_figures, published_figures, tuned_figures


def all_figures(documents: Documents, quoted: Sequence[Quoted]) -> list[Figure]:
    """Every figure, in the order of the page."""
    return [
        *ladder_figures(documents.benches),
        *tuned_figures(documents.benches),
        *published_figures(quoted),
        *(figure for named in documents.sweeps for figure in sweep_figures(named)),
        *(figure for named in documents.ablations for figure in ablation_figures(named)),
        *prediction_figures(documents),
        *(figure for named in documents.profiles for figure in profile_figures(named)),
        *traffic_figures(documents),
        *activity_figures(documents),
    ]
