"""The scheduler: residency of clusters, slices of warps, completion of asynchronous work, hangs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemmgen.emulate.asyncops import AsyncOp, Channel, Wait
from gemmgen.emulate.blocks import LEFT, PARKED, compile_block, instruction_of
from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.hang import deadlock, livelock
from gemmgen.emulate.lanes import FULL, WARP
from gemmgen.emulate.machine import Cluster, Cta, Group, Machine, Warp
from gemmgen.emulate.ops import EXIT_CHECKS
from gemmgen.emulate.ops.sync import cluster_leave, threads_left
from gemmgen.emulate.program import Program
from gemmgen.emulate.split import absorb

_SPIN_BLOCKS = 4096  # blocks in which a loop must come round to count as spinning


class Engine:
    """Runs a machine to its end."""

    def __init__(self, machine: Machine, program: Program) -> None:
        self.machine = machine
        self.program = program
        self.timing = machine.timing
        self.ready: list[Group] = []
        self.waiting_clusters = machine.waiting_clusters
        self.resident: list[Cluster] = []
        self.idle_from = 0  # instruction count at the last progress
        self.seen = 0  # progress at that time
        self.spinners = Channel()
        self.spun_at = 0

    # --- residency ---

    def run(self) -> None:
        """Run all CTAs. Raises EmulationError, with Hang for a deadlock or a livelock."""
        machine = self.machine
        cx, cy, cz = machine.cluster_shape
        gx, gy, gz = machine.grid
        for z in range(0, gz, cz):
            for y in range(0, gy, cy):
                self.waiting_clusters.extend((x, y, z) for x in range(0, gx, cx))
        room = max(1, machine.settings.sm_count // (cx * cy * cz))
        for _ in range(room):
            self._start_next()
        self._loop()

    def _start_next(self) -> None:
        if not self.waiting_clusters:
            return
        machine = self.machine
        x0, y0, z0 = self.waiting_clusters.popleft()
        cluster = Cluster(machine, machine.started)
        machine.started += 1
        cx, cy, cz = machine.cluster_shape
        for rank in range(cx * cy * cz):
            x, y, z = rank % cx, rank // cx % cy, rank // (cx * cy)
            cluster.ctas.append(Cta(machine, cluster, rank, (x0 + x, y0 + y, z0 + z)))
        self.resident.append(cluster)
        for cta in cluster.ctas:
            self._start_warps(cta)
            if machine.hub.start:
                machine.hub.on_start(cta)

    def _start_warps(self, cta: Cta) -> None:
        machine = self.machine
        x, y, z = machine.block
        threads = x * y * z
        cta.cluster.expected += threads
        for index in range(-(-threads // WARP)):
            left = threads - index * WARP
            live = FULL if left >= WARP else (1 << left) - 1
            warp = Warp(cta, index, live)
            cta.warps.append(warp)
            machine.serial += 1
            group = Group(warp, live, list(self.program.blank), 0, machine.serial)
            warp.groups.append(group)
            self.ready.append(group)
        cta.running = len(cta.warps)

    # --- the loop ---

    def _loop(self) -> None:
        machine, timing = self.machine, self.timing
        pending = machine.pending
        while True:
            if machine.woken:
                self._wake()
            if not self.ready and not pending:
                if not self.resident:
                    return
                raise deadlock(machine, self.program, self.resident)
            chosen = timing.choose(self.ready, pending)
            if chosen.__class__ is Group:
                self._slice(chosen)
            else:
                self._complete(chosen)  # type: ignore[arg-type]
            if self.spinners.waiters and machine.progress != self.spun_at:
                machine.notify(self.spinners)
            self._watch()

    def _wake(self) -> None:
        machine = self.machine
        for group in machine.woken:
            if group.state == "wait":
                group.state = "run"
                if machine.hub.wake and group.wait is not None:
                    machine.hub.on_wake(group, group.wait)
                group.wait = None
                self.ready.append(group)
        machine.woken.clear()

    def _watch(self) -> None:
        machine = self.machine
        if machine.progress != self.seen:
            self.seen = machine.progress
            self.idle_from = machine.instructions
        elif machine.instructions - self.idle_from > machine.settings.livelock_instructions:
            raise livelock(machine, self.program, self.resident)
        limit = machine.settings.max_instructions
        if limit and machine.instructions > limit:
            raise EmulationError("E218", f"{limit} warp instructions have run")

    def _complete(self, operation: AsyncOp) -> None:
        try:
            self.machine.complete(operation)
        except EmulationError as error:
            _explain(error, operation)
            raise

    def _slice(self, group: Group) -> None:
        ready = self.ready
        if group.warp.split:
            group = self._lowest(group)
        ready.remove(group)
        code = self._run(group)
        if code == LEFT:
            self._leave(group)
        elif group.state == "run":
            ready.append(group)
        born = self.machine.born
        if born:
            ready.extend(g for g in born if g.state == "run")
            born.clear()

    def _lowest(self, group: Group) -> Group:
        """Of the groups of a warp that can run, the one that is furthest behind, so that they
        meet again.
        """
        able = [g for g in group.warp.groups if g.state == "run"]
        free = [g for g in able if not g.skip]
        if not free:
            for g in able:
                g.skip = False
            free = able
        return min(free, key=lambda g: g.pc)

    # --- one slice ---

    def _run(self, group: Group) -> int:
        program = self.program
        functions, sizes = program.functions, program.sizes
        warp = group.warp
        pc = group.pc
        budget = self.timing.quantum()
        before = self.machine.progress
        count = code = 0
        try:
            while budget > 0:
                if warp.split:
                    group.pc = pc
                    if self._join(group):
                        break
                    group.dirty |= program.written[pc]
                function = functions[pc] or compile_block(program, pc)
                code = function(group)
                if code < 0:
                    count += 0 if code == PARKED else sizes[pc]
                    break
                count += sizes[pc]
                pc = code
                budget -= 1
        except EmulationError as error:
            self._blame(error, group)
            raise
        except Exception as error:
            fault = EmulationError(
                "E200", f"{type(error).__name__}: {error}", title="emulator fault"
            )
            self._blame(fault, group, error)
            raise fault from error
        finally:
            self.machine.instructions += count
        if code >= 0:
            group.pc = pc
        if budget <= 0 and self.machine.progress == before and group.state == "run":
            code = self._spin(group)
        return code

    def _join(self, group: Group) -> bool:
        """Take in groups of the warp at the same instruction; True when another one should run
        first.
        """
        warp = group.warp
        behind = False
        for other in list(warp.groups):
            if other is group:
                continue
            if other.pc == group.pc and other.state in ("run", "meet") and other.token is None:
                if other.state == "run" and other in self.ready:
                    self.ready.remove(other)
                elif other in self.machine.born:
                    self.machine.born.remove(other)
                absorb(group, other, self.program)
            elif other.state == "run" and other.pc < group.pc and not other.skip:
                behind = True
        return behind and warp.split

    def _spin(self, group: Group) -> int:
        """A slice went by without progress: park the group if its loop comes round unchanged.
        Returns as a block.
        """
        group.skip = True
        program, machine = self.program, self.machine
        others = [g for g in group.warp.groups if g is not group]
        if any(g.state == "run" for g in others):
            return group.pc
        start, before = group.pc, machine.progress
        held = list(group.regs)
        functions = program.functions
        count = 0
        pc = start
        round_trip = False
        try:
            for _ in range(_SPIN_BLOCKS):
                if any(g.state == "meet" and g.pc == pc for g in others):
                    break
                if others:
                    group.dirty |= program.written[pc]
                code = (functions[pc] or compile_block(program, pc))(group)
                if code < 0:
                    return code
                count += program.sizes[pc]
                pc = code
                round_trip = pc == start and machine.progress == before
                if round_trip or machine.progress != before:
                    break
        except EmulationError as error:
            self._blame(error, group)
            raise
        finally:
            machine.instructions += count
        group.pc = pc
        if round_trip and _same(held, group.regs, program.live[pc]):
            place = program.kernel.instrs[pc].place
            group.state = "wait"
            group.wait = Wait(
                self.spinners, f"spins at line {place.ptx_line} for a change in memory"
            )
            self.spinners.waiters.append(group)
            self.spun_at = machine.progress
        return pc

    # --- exit ---

    def _leave(self, group: Group) -> None:
        warp, cta = group.warp, group.cta
        group.state = "dead"
        warp.groups.remove(group)
        warp.live &= ~group.mask
        cluster_leave(group)
        if len(warp.groups) == 1:
            warp.split = False
            warp.groups[0].dirty = 0
        for other in warp.groups:
            if other.state == "meet":
                other.state = "run"
                self.ready.append(other)
        self.machine.progress += 1
        if not warp.live:
            if self.machine.hub.leave:
                self.machine.hub.on_leave(group)
            cta.running -= 1
            threads_left(cta)
            if not cta.running:
                self._retire(cta)

    def _retire(self, cta: Cta) -> None:
        for check in EXIT_CHECKS:
            try:
                check(cta)
            except EmulationError as error:
                error.where = error.where or cta.where()
                raise
        cta.exited = True
        if self.machine.hub.exit:
            self.machine.hub.on_exit(cta)
        if all(c.exited for c in cta.cluster.ctas):
            self.resident.remove(cta.cluster)
            self._start_next()

    # --- errors ---

    def _blame(self, error: EmulationError, group: Group, cause: Exception | None = None) -> None:
        found = instruction_of(self.program, (cause or error).__traceback__)
        if found is not None and error.place is None:
            error.place = found.place
        error.where = error.where or group.where()


def _explain(error: EmulationError, operation: AsyncOp) -> None:
    if operation.instr is not None and error.place is None:
        error.place = operation.instr.place
    if not error.where and operation.group is not None:
        error.where = f"{operation.group.where()}, at its completion ({operation.kind})"


def _same(old: list[Any], new: list[Any], live: int) -> bool:
    while live:
        low = live & -live
        slot = low.bit_length() - 1
        live ^= low
        a, b = old[slot], new[slot]
        if a is b:
            continue
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            if not np.array_equal(a, b):
                return False
        elif a != b:
            return False
    return True
