"""Faster, slower or the same: what one run can tell apart."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

FASTER, SLOWER, SAME = "faster", "slower", "same"


@dataclass(frozen=True)
class Comparison:
    """One thing against another.

    Attributes:
        gain: time of the other over its own, less one: above zero is faster.
        noise: gains within it, either way, are chance.
        verdict: ``faster``, ``slower`` or ``same``.
    """

    gain: float
    noise: float
    verdict: str


def spread(samples: Sequence[float]) -> float:
    """Half the interquartile range over the median; 0 for fewer than four samples."""
    ordered = sorted(samples)
    quarter = len(ordered) // 4
    if quarter == 0:
        return 0.0
    return (ordered[-1 - quarter] - ordered[quarter]) / (2 * statistics.median(ordered))


def compare(time: float, other: float, *noises: float) -> Comparison:
    """Compare two times of one run; the noise is the largest of `noises`."""
    gain, noise = other / time - 1.0, max(noises)
    if abs(gain) <= noise:
        return Comparison(gain, noise, SAME)
    return Comparison(gain, noise, FASTER if gain > 0 else SLOWER)
