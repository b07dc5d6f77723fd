"""``python -m fuzz``: draw specs until told to stop; keep what is neither refused nor right."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from fuzz.draw import Drawn
from fuzz.rounds import work
from fuzz.store import Store
from fuzz.trial import Outcome
from fuzz.values import ROOT

OVERRUN = 300.0  # seconds for one spec
RECYCLE = 6  # rounds a process: compilers keep what they made
EVERY = 20.0  # seconds between progress lines where there is no terminal


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the first round (0)")
    parser.add_argument("--rounds", type=int, default=0, help="stop after so many (never)")
    parser.add_argument("--seconds", type=float, default=0, help="stop after so long (never)")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (2)")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "fuzz", help="folder of finds")
    return parser.parse_args(argv)


@dataclass
class Worker:
    """A process, the round it is in, and the spec it examines since when."""

    process: Any
    pipe: Connection
    seed: int | None = None
    drawn: Drawn | None = None
    since: float = 0.0
    rounds: int = 0

    @classmethod
    def start(cls) -> Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        return cls(process, ours, since=time.monotonic())

    def give(self, seed: int) -> None:
        self.seed, self.drawn, self.since = seed, None, time.monotonic()
        self.rounds += 1
        self.pipe.send(seed)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


@dataclass
class Campaign:
    """The whole run: workers, seeds to come, and what was found."""

    options: argparse.Namespace
    store: Store
    next_seed: int
    counts: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    workers: list[Worker] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    shown: float = 0.0

    def run(self) -> None:
        """Until told to stop, or as long as the options say."""
        limit = self.options.seconds or float("inf")
        while time.monotonic() - self.started < limit:
            self._employ()
            busy = {worker.pipe: worker for worker in self.workers}
            if not busy:
                return
            for pipe in wait(list(busy), timeout=1.0):
                self._take(busy[pipe])  # type: ignore[index]
            for worker in list(self.workers):
                if time.monotonic() - worker.since > OVERRUN:
                    self._lost(worker, "overran", f"no outcome in {OVERRUN:.0f} s")
            self._progress()

    def _more(self) -> bool:
        done = self.next_seed - self.options.seed
        return not self.options.rounds or done < self.options.rounds

    def _employ(self) -> None:
        for worker in [w for w in self.workers if w.seed is None]:
            if self._more() and worker.rounds < RECYCLE:
                worker.give(self._seed())
            else:
                worker.end()
                self.workers.remove(worker)
        while self._more() and len(self.workers) < self.options.jobs:
            self.workers.append(Worker.start())
            self.workers[-1].give(self._seed())

    def _seed(self) -> int:
        self.next_seed += 1
        return self.next_seed - 1

    def _take(self, worker: Worker) -> None:
        try:
            event = worker.pipe.recv()
        except (EOFError, OSError):
            self._lost(worker, "died", "the process died")
            return
        worker.since = time.monotonic()
        if event is None:
            worker.seed = None
            return
        drawn, outcome = event
        worker.drawn = drawn
        if outcome is not None:
            self._count(drawn, outcome, worker.seed or 0)

    def _lost(self, worker: Worker, kind: str, message: str) -> None:
        """A worker without an outcome: its spec is a find, and its round is over."""
        if worker.drawn is not None:
            from fuzz.trial import text_of

            found = Outcome(kind, message=message, text=text_of(worker.drawn))
            self._count(worker.drawn, found, worker.seed or 0)
        worker.end()
        self.workers.remove(worker)

    def _count(self, drawn: Drawn, outcome: Outcome, seed: int) -> None:
        self.counts[outcome.kind] += 1
        if not outcome.fault:
            self.codes[outcome.code] += outcome.kind == "refused"
            return
        place = self.store.add(drawn, outcome, seed)
        if place is not None:
            first = outcome.message.splitlines()[0] if outcome.message else ""
            self._say(f"{outcome.kind} {outcome.code}: {drawn}: {first[:160]}\n  kept in {place}")

    def _say(self, text: str) -> None:
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""
        print(f"{clear}{text}", file=sys.stderr, flush=True)

    def line(self) -> str:
        """The tally so far."""
        minutes = (time.monotonic() - self.started) / 60
        faults = self.counts.total() - self.counts["refused"] - self.counts["equal"]
        return (
            f"{minutes:.1f} min, seeds {self.options.seed} to {self.next_seed - 1}:"
            f" {self.counts.total()} specs, {self.counts['refused']} refused,"
            f" {self.counts['equal']} equal to torch,"
            f" {faults} faults of {len(self.store.counts)} kinds"
        )

    def _progress(self) -> None:
        terminal = sys.stderr.isatty()
        if time.monotonic() - self.shown < (0.5 if terminal else EVERY):
            return
        self.shown = time.monotonic()
        end = "" if terminal else "\n"
        print(f"\r{self.line()}" if terminal else self.line(), end=end, file=sys.stderr, flush=True)


def main(argv: list[str]) -> int:
    """Run; 0 when nothing was found."""
    options = _arguments(argv)
    campaign = Campaign(options, Store(options.out), options.seed)
    print("drawing specs until Ctrl-C" if not options.rounds else "drawing specs", file=sys.stderr)
    try:
        campaign.run()
    except KeyboardInterrupt:
        print(file=sys.stderr)
    finally:
        for worker in campaign.workers:
            worker.end()
    print(campaign.line())
    codes = ", ".join(f"{code} {count}" for code, count in campaign.codes.most_common())
    print(f"refusals: {codes}")
    for (kind, code, words), count in campaign.store.counts.items():
        print(f"{count} x {kind} {code}: {words}")
    for place in campaign.store.kept:
        print(f"  {place}")
    return 1 if campaign.store.counts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
