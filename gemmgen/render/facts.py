"""What decides between partials, read off a plan."""

from __future__ import annotations

from collections.abc import Callable

from gemmgen.frozen import frozen
from gemmgen.plan import Plan, Purpose
from gemmgen.plan.roles import is_specialized
from gemmgen.terms import ArriveHow, KExtent, LoadKind, MainloopKind, Role, SchedulerKind, Swizzle


@frozen
class Facts:
    """What decides between partials; every field is read off the plan.

    Attributes:
        serial: one load at a time, one buffer.
        prefetch: a ring of loads runs ahead of the MMAs, in one sequence with them.
        specialized: producer and mma are different warps.
        one_step: K is one MMA deep.
        blocks: several MMAs a k_tile.
        swizzled: operand buffers are swizzled.
        wide_rows: a row of a stage is several spans of the swizzle.
        cluster: more than one CTA a cluster.
        pair: two CTAs share an MMA.
        pairs: several CTA pairs share a cluster.
        line: a cluster is one row or one column of CTAs without pairs.
        wide: a cluster has several CTAs along N.
        multicast: a load is written to several CTAs.
        multicast_both: the loads of A and of B are.
        persistent: a CTA walks over several output tiles.
        walks: each role of a persistent, warp-specialized kernel walks over them for itself.
        double: two register buffers in the epilogue.
        cooperative: threads copy the operands themselves, all or those of a role.
        single: one tile in all.
        grouped: tiles are walked in groups of rows.
        ring: several accumulators that an mma warp walks over.
        consumers: several mma warps.
        stores: D leaves through shared memory and TMA.
        reuse: a staged chunk of D is filled again.
        held: the converted tile waits in registers for the release of its accumulator.
        releases: a barrier hands accumulators back to mma.
        each_thread: every thread releases the accumulator for itself.
        columns: the groups are of columns.
        ragged: tiles may hang over the edges of D.
        registers: setmaxnreg moves registers between roles.
        pingpong: consumers take tiles in turn.
        shares_tile: each consumer has some rows of the tile.
        deferred: a tile is stored under the next one.
        uneven: a tile does not fill each staged chunk of D equally often.
        told: a barrier says that the accumulator of the one tile is complete.
        apart: some of the warps that come to the epilogue of a tile have no part in it.
        by_role: each role finds out for itself which consumer a warp works for.
        dependent: the kernel may start before the grid ahead of it has ended.
    """

    serial: bool
    prefetch: bool
    specialized: bool
    one_step: bool
    blocks: bool
    swizzled: bool
    wide_rows: bool
    cluster: bool
    pair: bool
    pairs: bool
    line: bool
    wide: bool
    multicast: bool
    multicast_both: bool
    persistent: bool
    walks: bool
    double: bool
    cooperative: bool
    single: bool
    grouped: bool
    ring: bool
    consumers: bool
    stores: bool
    reuse: bool
    held: bool
    releases: bool
    each_thread: bool
    columns: bool
    ragged: bool
    registers: bool
    pingpong: bool
    shares_tile: bool
    deferred: bool
    uneven: bool
    told: bool
    apart: bool
    by_role: bool
    dependent: bool

    @classmethod
    def of(cls, plan: Plan) -> Facts:
        """Read the facts off `plan`."""
        spec = plan.spec
        return cls(
            serial=spec.mainloop.kind is MainloopKind.SERIAL,
            prefetch=spec.mainloop.kind is MainloopKind.PREFETCH,
            specialized=is_specialized(spec),
            one_step=spec.problem.k_extent is KExtent.ONE_STEP,
            blocks=plan.geometry.k_blocks > 1,
            swizzled=spec.smem.swizzle is not Swizzle.NONE,
            wide_rows=plan.a.spans > 1,
            cluster=plan.geometry.cluster_size > 1,
            pair=plan.geometry.is_pair,
            line=plan.geometry.is_line,
            wide=plan.geometry.cluster_n > 1,
            pairs=plan.geometry.is_pair and plan.geometry.cluster_size > 2,
            multicast=any(copy.mask is not None for copy in plan.copies),
            multicast_both=all(copy.mask is not None for copy in plan.copies),
            walks=plan.persistent and is_specialized(spec),
            persistent=spec.scheduler.kind is SchedulerKind.PERSISTENT,
            double=spec.epilogue.register_buffers == 2,
            cooperative=spec.load.kind is LoadKind.COOPERATIVE,
            single=spec.scheduler.kind is SchedulerKind.SINGLE,
            grouped=plan.walk.grouped,
            ring=spec.pipeline.acc_stages > 1,
            consumers=plan.geometry.consumers > 1,
            stores=plan.output is not None,
            reuse=plan.output is not None and plan.output.reused,
            held=plan.epilogue.held,
            releases=plan.barrier(Purpose.ACC_EMPTY) is not None,
            each_thread=any(
                arrive.how is ArriveHow.THREADS and arrive.by is Role.EPILOGUE
                for barrier in plan.barriers
                for arrive in barrier.arrives
            ),
            columns=plan.walk.group_n is not None,
            ragged=plan.problem.ragged,
            registers=plan.launch.min_blocks is not None,
            pingpong=spec.mainloop.kind is MainloopKind.PINGPONG,
            shares_tile=plan.geometry.acc_rows != plan.geometry.tile_m,
            deferred=bool(spec.epilogue.deferred),
            uneven=plan.output is not None and bool(spec.epilogue.chunks % plan.output.stages),
            told=plan.barrier(Purpose.ACC_FULL) is not None and not plan.persistent,
            apart=bool(plan.role(Role.EPILOGUE).code),
            by_role=plan.consumer is not None and not plan.consumer.at_setup,
            dependent=plan.launch.dependent,
        )

    @property
    def in_turn(self) -> bool:
        """Whether all threads copy a stage, and then wait for its MMAs."""
        return self.cooperative and self.serial

    @property
    def copies_ahead(self) -> bool:
        """Whether all threads copy a ring ahead of the MMAs."""
        return self.cooperative and self.prefetch

    @property
    def loads_ahead(self) -> bool:
        """Whether one warp loads a ring ahead of its MMAs."""
        return self.prefetch and not self.cooperative

    @property
    def one_walk(self) -> bool:
        """Whether all roles walk over tiles together."""
        return self.persistent and not self.specialized

    @property
    def loads_in_turn(self) -> bool:
        """Whether one warp loads a stage, and then waits for its MMAs."""
        return self.serial and not self.cooperative


Rule = tuple[str, str, Callable[[Facts], bool]]
"""A slot, a partial, and what the partial requires of the plan."""
