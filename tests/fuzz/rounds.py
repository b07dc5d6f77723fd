"""Rounds: what a seed draws, examined in a process of its own."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection

from hypothesis import HealthCheck, Phase, assume, given, seed, settings

from fuzz.draw import Drawn, specs
from fuzz.trial import Outcome, examine, smallest

EXAMPLES = 40  # draws a round


def drawn_by(number: int, examples: int = EXAMPLES) -> list[Drawn]:
    """What hypothesis draws with a seed: the same every time, without repeats."""
    found: dict[str, Drawn] = {}

    @seed(number)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(specs())
    def draw(drawn: Drawn) -> None:
        assume(drawn.changes)
        found.setdefault(str(drawn), drawn)

    draw()
    return list(found.values())


def examined(number: int, examples: int = EXAMPLES) -> Iterator[tuple[Drawn, Outcome | None]]:
    """Each spec of a round twice: before it is examined with None, then with its outcome."""
    for drawn in drawn_by(number, examples):
        yield drawn, None
        outcome = examine(drawn)
        if outcome.fault:
            drawn, outcome = smallest(drawn, outcome)
        yield drawn, outcome


def work(pipe: Connection) -> None:
    """Examine the rounds whose seeds come in, and send what becomes of them; None ends a round."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    import torch

    torch.set_num_threads(1)
    while True:
        try:
            number = pipe.recv()
        except EOFError:
            return
        for event in examined(number):
            pipe.send(event)
        pipe.send(None)
