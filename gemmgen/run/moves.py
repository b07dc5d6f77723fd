"""Moves from a failing run to smaller ones that lower several of its numbers at once."""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Iterator
from itertools import combinations, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gemmgen.run.shrink import Point

MOST = 40  # points tried of those that lower several numbers
_LOWEST = 24  # values of each number, from 1 up

Numbers = tuple[int, int, int, int]


def joint(point: Point, *, k_fixed: bool) -> Iterator[Point]:
    """At most `MOST` points below `point` in two numbers or more, the others as they are.

    First come those in which the busiest cluster walks over as many tiles as in `point`: a fault
    of a cluster's second tile needs no second cluster. Among equals, few clusters come first,
    then few tiles.

    Args:
        k_fixed: whether K is not to change.
    """
    now: Numbers = (point.clusters, point.m_tiles, point.n_tiles, point.k_tiles)
    lower = [range(1, min(number, _LOWEST + 1)) for number in now]
    if k_fixed:
        lower[3] = range(0)
    found: set[Numbers] = set()
    for names in (*combinations(range(4), 2), (0, 1, 2)):
        for values in product(*(lower[name] for name in names)):
            moved = list(now)
            for name, value in zip(names, values, strict=True):
                moved[name] = value
            clusters, m_tiles, n_tiles, k_tiles = moved
            if clusters <= m_tiles * n_tiles:
                found.add((clusters, m_tiles, n_tiles, k_tiles))

    def size(numbers: Numbers) -> tuple[object, ...]:
        clusters, m_tiles, n_tiles, k_tiles = numbers
        walked = -(-m_tiles * n_tiles // clusters)
        return walked != point.walked, clusters, m_tiles * n_tiles, k_tiles, numbers

    for clusters, m_tiles, n_tiles, k_tiles in heapq.nsmallest(MOST, found, key=size):
        yield dataclasses.replace(
            point, clusters=clusters, m_tiles=m_tiles, n_tiles=n_tiles, k_tiles=k_tiles
        )


def with_clusters(point: Point, clusters: int) -> tuple[Point, ...]:
    """`point` with fewer clusters at a time: with all of its tiles, and with as many along M or
    along N as keep the tiles that the busiest cluster walks over.
    """
    same = dataclasses.replace(point, clusters=clusters)
    tiles = clusters * point.walked
    kept = (
        dataclasses.replace(same, m_tiles=1, n_tiles=tiles),
        dataclasses.replace(same, m_tiles=tiles, n_tiles=1),
    )
    smaller = tuple(
        moved for moved in kept if moved.m_tiles <= point.m_tiles and moved.n_tiles <= point.n_tiles
    )
    return tuple(dict.fromkeys((same, *smaller)))
