"""What each E code means, at length (`gemmgen explain`)."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "E200": "The emulator itself failed while it ran the instruction shown: a fault of gemmgen, not"
    " of the kernel. Please report it with the file and the shape.",
    "E201": "Every warp waits, and no asynchronous work is under way that could wake one. The table"
    " has a line for each waiting group of lanes: where it stands, which barrier and phase it waits"
    " for, and what that barrier still lacks. Usual causes: a phase that does not flip, an arrival"
    " that goes to the wrong CTA or never happens, bytes that do not match expect_tx.",
    "E202": "Warps run, but nothing changes: no memory, no barrier, no asynchronous work. They spin"
    " on a condition that nothing will make true.",
    "E203": "The emulator does not know this opcode, or this form of it. It never guesses.",
    "E204": "A load, store or copy touches global memory outside every buffer of the problem, or"
    " across the end of one.",
    "E205": "An access lies outside the shared memory of the CTA.",
    "E206": "The address is not a multiple of what the access needs; an mbarrier needs 8 bytes.",
    "E207": "Shared memory is read that nothing has written: a missing wait, or a wrong offset.",
    "E208": "An mbarrier is used before mbarrier.init, or at an address where there is none.",
    "E209": "An mbarrier gets more arrivals in a phase than its count, or is initialised with a"
    " count that it cannot have.",
    "E210": "The transaction count of an mbarrier leaves its range of 2^20 - 1 bytes: expect_tx and"
    " the bytes of the loads do not belong together.",
    "E211": "A signal or an access reaches a CTA that has exited, whose shared memory may belong to"
    " another by then. Either the CTA must wait for the last signal into it (the producer goes"
    " round its ring once more), or a cluster barrier must come before the exit.",
    "E212": "The kernel writes to an input.",
    "E213": "An operand that must be the same in all lanes is not.",
    "E215": "The PTX text cannot be read at the line shown.",
    "E216": "An mbarrier is initialised again, or invalidated, while a phase is under way or warps"
    " wait on it; or it is initialised over a valid one, by a second warp or by all lanes of a"
    " warp, with no mbarrier.inval between, which PTX leaves undefined.",
    "E217": "The launch itself is impossible: too many threads, a grid that the cluster does not"
    " divide, an empty grid, parameters of other sizes than the kernel's.",
    "E218": "The run has executed as many warp instructions as it was allowed.",
    "E219": "A named barrier or barrier.cluster is misused: a number above 15, a thread count"
    " that is"
    " no multiple of 32 or differs between arrivals, more threads than expected, a wait without its"
    " arrive. Or a warp arrives and does not know that the threads which used the barrier the time"
    " before have all arrived (two warpgroups with one number): the barrier counts whoever comes.",
    "E221": "The kernel executed `trap` or `brkpt`.",
    "E222": "An ordinary load or store touches the 8 bytes of an mbarrier.",
    "E223": "A phase of an mbarrier completes, and the next one too, before a warp that waits for"
    " the first has looked: the parity is the old one again, and the wait may never pass. Too many"
    " arrivals, or a ring whose slot is used again before all have seen it.",
    "E224": "setmaxnreg asks for a number of registers that cannot be, lowers what it should raise,"
    " or is skipped by a warp of the warpgroup. All warps of a warpgroup execute the same one;"
    " an increase waits until decreases have freed enough, for ever where they never do (E201).",
    "E230": "The 128 bytes of a tensor map do not describe a tensor: rank, extents, strides, box or"
    " format out of range.",
    "E231": "A tensor copy is not valid: coordinates of another rank, a misaligned address, a"
    " multicast mask that names no CTA of the cluster, a barrier in the wrong CTA, a reduction that"
    " is not emulated.",
    "E232": "The box of a tensor copy reaches memory outside its buffer that the map says belongs"
    " to the tensor. What lies outside the map's extent is filled with zeros and is no fault.",
    "E233": "A bulk copy's address or size is not a multiple of 16, or its size is zero.",
    "E234": "A shared-memory matrix descriptor has an impossible field, or one that its layout does"
    " not allow.",
    "E235": "An instruction descriptor asks for a type or shape that the tensor core does not"
    " have.",
    "E236": "A matrix operand reaches outside shared memory.",
    "E237": "A tensor core instruction reads shared memory that has not been written: it was issued"
    " before its load had landed, or its descriptor points elsewhere.",
    "E240": "tcgen05.alloc asks for columns that are not a power of two from 32 to 512, or for more"
    " than are free, or after its permit was given up.",
    "E241": "tcgen05.dealloc frees what was not allocated, or frees it twice: one warp of a CTA"
    " does"
    " it, once.",
    "E242": "Tensor memory is used outside an allocation.",
    "E243": "Tensor memory is read, overwritten or freed while an operation on it is unfinished: a"
    " wait for the commit of the MMAs is missing, or a tcgen05.wait.",
    "E244": "Tensor memory is read that nothing has written, or accumulated onto: the first MMA"
    " of a"
    " tile must overwrite.",
    "E245": "The kernel ends without freeing its tensor memory; the next one on that SM would wait"
    " for ever.",
    "E246": "A warp reaches only 32 lanes of tensor memory: warp w of a warpgroup has lanes 32 w to"
    " 32 w + 31 (PTX ISA, tcgen05.ld).",
    "E247": "Registers of a tcgen05.ld are used before tcgen05.wait::ld: they hold anything.",
    "E248": "wgmma is misused: no wgmma.fence before it, warps of the warpgroup that disagree, its"
    " registers touched before the wait for it, or an accumulator added to that nothing has"
    " written: the first wgmma of a sum has a false scale-d, or finds zeros in its registers.",
    "E249": "A tensor core instruction is misused: both cta_groups in one kernel, a CTA without a"
    " peer, a commit mask that names no CTA of the cluster, an accumulator at lanes that it cannot"
    " have.",
    "E250": "Cluster launch control (clusterlaunchcontrol) is misused: another try_cancel after"
    " the answer that nothing is"
    " left, or a query of something that is no answer.",
    "E260": "Shared memory is overwritten or read while an asynchronous copy or MMA may still use"
    " it: a stage reused without the wait for the barrier that hands it back. Both accesses and the"
    " edge that is missing between them are named; the run need not have gone wrong: it is enough"
    " that nothing orders the two.",
    "E261": "Asynchronous work reads or writes what threads wrote with plain stores, and no"
    " fence.proxy.async stands between (PTX ISA, async proxy). It stands after the write, on the"
    " way to the operation: best in the thread that wrote, before the barrier on which the issuing"
    " thread waits; a thread that comes after the write by such a barrier may execute it too.",
    "E262": "Two threads touch the same shared memory, one of them writes, and no barrier orders"
    " them: bar.sync, an mbarrier, or bar.warp.sync between lanes of one warp. A relaxed arrival"
    " says that code has executed, not what it wrote.",
    "E263": "Two accesses to the same global memory, one of them a write, that nothing orders:"
    " within a CTA a barrier, across CTAs a release and an acquire of .gpu scope.",
    "E264": "Tensor memory is used while an MMA, a load or a store of it may be unfinished: the"
    " commit, or the tcgen05.wait, has not been waited for.",
    "E265": "Tensor memory passes from one thread to another without tcgen05.fence before and after"
    " the barrier between them, or an MMA reads what a wait says has landed, without"
    " tcgen05.fence::after_thread_sync after that wait: tcgen05 operations are asynchronous, and"
    " only the fence orders them with barriers (PTX ISA, tcgen05.fence). Each thread needs its own:"
    " before its arrival the one that has used the memory, after its wait the one that goes on. A"
    " barrier passes neither fence on to other threads; a commit has the first in it.",
    "E266": "A barrier is used by another thread, CTA or unit before its init is visible there: no"
    " fence.mbarrier_init or barrier between.",
    "E267": "An arrival in another CTA is of scope .cta: what came before it need not be visible"
    " there: use the cluster scope. Or a thread waits on an mbarrier of another CTA, which is not"
    " possible: only threads of its own CTA wait on an mbarrier (PTX ISA, mbarrier.try_wait).",
    "E268": "A CTA exits while asynchronous work or another CTA may still reach it: a bulk store"
    " without cp.async.bulk.wait_group.read, a commit or an arrival that no thread of the CTA has"
    " waited for. Its shared memory may belong to another CTA by then. Wait for the last signal"
    " into the CTA, or end with a cluster barrier.",
    "E269": "An element of the output is written twice, though in order: two tiles or two threads"
    " overlap, or several lanes issue a tensor store that one lane should (elect.sync). Where both"
    " hold the same value no result is wrong, and the work is done twice.",
    "E270": "The launch is a programmatic dependent one: the grid may start before the grid ahead"
    " of it in the stream has ended, whose results are visible only once griddepcontrol.wait has"
    " returned (PTX ISA, griddepcontrol). Here global memory is read or written by a thread that"
    " has not waited, nor does a barrier order the access after the wait of another thread of the"
    " cluster. Let every thread wait at the end of its setup, or launch without `use_pdl`.",
}
