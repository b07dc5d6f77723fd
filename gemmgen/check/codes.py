"""Every code of the checker in a few sentences: what `gemmgen explain` prints."""

from __future__ import annotations

CODES: dict[str, str] = {
    "P201": "The instruction family does not exist on the architecture: wgmma is sm_90a, tcgen05"
    " is sm_100a.",
    "P202": "The tensor core has no instruction of this shape. Legal shapes depend on the family,"
    " on cta_group and on the element type; K is always 32 bytes of a row.",
    "P203": "Instructions must cover a CTA group's tile exactly, along M and along N.",
    "P204": "A stage is multiplied in whole steps of mma.k.",
    "P205": "A swizzle permutes the 16-byte chunks of a 32-, 64- or 128-byte span, so a row of a"
    " stage is a whole number of spans: 128 bytes are 64 values of 16 bits.",
    "P206": "An operand in shared memory is made of groups of eight rows, and a CTA loads whole"
    " groups; with multicast each CTA loads an equal slice for all that share it.",
    "P207": "The tensor core does not take these element types together.",
    "P210": "The four warps of a warpgroup execute a wgmma together, and its result stays in their"
    " registers: mma and epilogue have the same warps, 4 i to 4 i + 3 for some i.",
    "P211": "A warp that waits for stages to become free must not be one of those that free them,"
    " nor one of their warpgroup.",
    "P212": "A wgmma has 64 rows, so a consumer's share of the tile is a multiple of 64.",
    "P213": "With wgmma an accumulator is a set of registers of its warpgroup: one, not a ring.",
    "P214": "In a ping-pong mainloop two consumers multiply in turn, each tiles of its own.",
    "P215": "A deferred epilogue keeps a converted tile in registers and stores its chunks, staged"
    " in shared memory, under the first k_tiles of the consumer's next tile.",
    "P216": "An accumulator takes rows x columns / 128 registers of each thread, and the mainloop"
    " needs about 36 more; with fewer the compiler would spill.",
    "P217": "setmaxnreg moves registers between warpgroups: the producer's gives them up and the"
    " consumers' take them. ptxas gives every thread the same number at launch.",
    "P218": "stmatrix packs 16 columns of D at a time; without staging, the registers of a consumer"
    " are stored at once.",
    "P220": "Barriers, padding and the A/B ring are more than the 227 KiB of shared memory that a"
    " CTA can have.",
    "P221": "All accumulator slots together are more than the 512 columns of tensor memory.",
    "P222": "An mbarrier counts at most 2^20 - 1 bytes a phase.",
    "P223": "The epilogue reads the accumulator in equal chunks, each a width that tcgen05.ld has.",
    "P224": "The chunk that a thread reads, the converted values that it keeps and its addresses"
    " are more registers than it can have, so the compiler would spill. All threads of a"
    " CTA share 65536, a quarter of them for every fourth warp.",
    "P225": "All warps of a CTA share the 65536 registers of an SM.",
    "P230": "A role without warps never runs, and whoever waits for it hangs.",
    "P231": "Two roles that wait for each other cannot be one warp.",
    "P232": "A serial or prefetch mainloop is one sequence of loads and MMAs, issued by one warp.",
    "P233": "The epilogue's warps are a range.",
    "P234": "Warp w reads only lanes 32 x (w mod 4) to 32 x (w mod 4) + 31 of tensor memory, so"
    " whole warpgroups read an accumulator of 128 lanes.",
    "P235": "Plain loads are shared by all threads of a CTA, or of a producer that runs beside mma,"
    " each of which copies 16 bytes at a time; the operands are a whole number of passes.",
    "P236": "Several mma warps are consumers: each issues one instruction along M for its own"
    " accumulator, which a warpgroup of its own carries to memory.",
    "P240": "The two CTAs of a pair are neighbours along M in a cluster.",
    "P241": "A cluster of more than eight CTAs is not portable; a cluster of one is no cluster.",
    "P242": "Multicast is a property of TMA loads.",
    "P243": "A is shared by CTAs along N, B by CTAs along M: with one CTA there is nobody to"
    " share with.",
    "P250": "A barrier on which nobody arrives never completes a phase.",
    "P251": "A barrier for which nobody waits orders nothing.",
    "P252": "Barriers hand a stage or an accumulator over between two roles that share it.",
    "P253": "A buffer that is written by one role and read by another needs a barrier each way.",
    "P254": "Each hand-over has one barrier, and only those that the mainloop makes.",
    "P255": "A barrier has a slot for each slot of what it hands over.",
    "P256": "What starts free is waited for on phase 1, which passes on a fresh barrier"
    " (pre-armed); what starts empty is waited for on phase 0.",
    "P257": "TMA bytes complete the barrier of a load, tcgen05.commit that of MMAs, a thread that"
    " of reads.",
    "P258": "An arrival must reach every CTA that waits for it: the peer of a pair, and with"
    " multicast every CTA that loads into the stage.",
    "P260": "A serial mainloop has one stage, a prefetch mainloop several.",
    "P261": "A CTA that computes one tile, or computes and writes back in turn, has no use for a"
    " second accumulator.",
    "P262": "A kernel whose K is one step is serial and has one stage.",
    "P263": "A single tile has no order.",
    "P264": "TMA stores read shared memory, so the epilogue stages chunks of D there; a tile fills"
    " each of them equally often.",
    "P265": "Fields of shared memory follow each other, aligned and within the total, and each"
    " barrier is where its slots are. gemmgen derives the map: this is a fault in gemmgen.",
    "P266": "Accumulator slots follow each other within the columns that are allocated. gemmgen"
    " derives the map: this is a fault in gemmgen.",
    "P267": "The launch has a thread for every role, a CTA for every tile, the planned cluster and"
    " the planned shared memory, and takes problems that cluster tiles cover. gemmgen derives it:"
    " this is a fault in gemmgen.",
    "P268": "Every printed constant evaluates to the number that was planned and proved. gemmgen"
    " derives them: this is a fault in gemmgen.",
    "P270": "A barrier expects exactly the bytes that the loads of its stage write; with a CTA"
    " pair the leader's counts those of both CTAs.",
    "P271": "A barrier is initialised with the number of arrivals of one phase. Too few complete"
    " it early or push the count below zero, too many never complete it.",
    "P272": "When the kernel ends every barrier is between two phases; one that is not has lost"
    " an arrival, which hangs a longer problem.",
    "P273": "A wait names only the parity of a phase. It must begin after the phase before, and"
    " see its phase before the next one completes.",
    "P274": "An arrival or bytes must come after the phase before their own is complete, or they"
    " count in it.",
    "P275": "In some interleaving an MMA reads a stage before the load of its k_tile has landed.",
    "P276": "In some interleaving a load writes into a stage that an MMA has not finished reading.",
    "P277": "In some interleaving the epilogue reads an accumulator before all its MMAs are"
    " complete.",
    "P278": "In some interleaving an MMA writes into an accumulator that is still to be read.",
    "P279": "Barriers and tensor memory must exist while they are used, and a CTA must not exit"
    " before the last signal into it.",
    "P280": "Every interleaving ends with roles that wait for each other.",
    "P291": "Legal, but no template prints these element types yet.",
    "P292": "Legal, but no template prints this layout in global memory yet.",
    "P293": "Legal, but no template prints this way of loading, or this mainloop, yet.",
    "P294": "Legal, but no template prints this scheduler yet.",
    "P295": "Legal, but no template prints this epilogue yet.",
    "P296": "Legal, but no template prints this relation of tile and instruction yet.",
    "P298": "Legal, but no template prints this cluster yet.",
    "P299": "Legal, but no template prints this set of warps yet.",
}

# Found by the protocol checker: no spec that passes the rules of barriers should reach them.
PROTOCOL: frozenset[str] = frozenset(f"P{number}" for number in range(270, 281))

# Between the parts of a plan: no spec should reach them either.
AGREEMENT: frozenset[str] = frozenset(f"P{number}" for number in range(265, 269))
