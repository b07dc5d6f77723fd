"""Bulk async-groups: which of a thread's bulk copies are read, and which are written.

PTX ISA "cp.async.bulk.commit_group", "cp.async.bulk.wait_group". A copy out of shared memory has
two steps here: its source is read, then its destination is written. `wait_group.read` waits for
the first, `wait_group` for both; the timing policy may put them far apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gemmgen.emulate.asyncops import AsyncOp, Channel, Wait
from gemmgen.emulate.decode import Decoder, Handler, Run, op
from gemmgen.emulate.machine import Group, Warp

_KEY = "bulk_groups"


@dataclass(eq=False, slots=True)
class Transfer:
    """One bulk copy of a bulk async-group."""

    reading: AsyncOp
    writing: AsyncOp | None = None

    def unfinished(self, read_only: bool) -> Channel | None:
        """Return the channel to wait on, or None when the copy is read (or written)."""
        if not self.reading.done:
            return self.reading.channel
        if read_only or self.writing is None or self.writing.done:
            return None
        return self.writing.channel


@dataclass(eq=False, slots=True)
class ThreadGroups:
    """The copies of one thread: not yet committed, and the committed groups, oldest first."""

    open: list[Transfer] = field(default_factory=list)
    committed: list[list[Transfer]] = field(default_factory=list)


def thread_groups(warp: Warp, lane: int) -> ThreadGroups:
    """Return the bulk async-groups of a thread."""
    threads: dict[int, ThreadGroups] = warp.ext.setdefault(_KEY, {})
    return threads.setdefault(lane, ThreadGroups())


@op("cp.async.bulk.commit_group")
def commit_group(d: Decoder) -> Run:
    """Close the group of bulk copies that each active thread has started."""
    d.allow()

    def run(g: Group) -> None:
        for lane in g.lanes.tolist():
            groups = thread_groups(g.warp, lane)
            groups.committed.append(groups.open)
            groups.open = []
        if g.machine.hub.sync:
            g.machine.hub.on_sync(g, d.instr, "bulk_commit", None)

    return run


@op("cp.async.bulk.wait_group")
def wait_group(d: Decoder) -> Handler:
    """Wait until at most N of each active thread's newest groups are unfinished (or unread)."""
    d.allow("read")
    read_only = d.has("read")
    newest = d.uniform(d.ops[0])

    def run(g: Group) -> Wait | None:
        keep = newest(g)
        for lane in g.lanes.tolist():
            committed = thread_groups(g.warp, lane).committed
            for transfers in committed[: len(committed) - keep]:
                for transfer in transfers:
                    channel = transfer.unfinished(read_only)
                    if channel is not None:
                        step = "read" if read_only else "written"
                        return Wait(channel, f"bulk copies of lane {lane} to be {step}")
            _forget_finished(committed)
        if g.machine.hub.sync:
            g.machine.hub.on_sync(g, d.instr, "bulk_wait", (keep, read_only))
        return None

    return d.blocking(run)


def _forget_finished(committed: list[list[Transfer]]) -> None:
    while committed and all(t.unfinished(read_only=False) is None for t in committed[0]):
        committed.pop(0)
