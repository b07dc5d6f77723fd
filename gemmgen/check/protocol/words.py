"""What happens in a run, in words: one function for each kind of event that has a step."""

from __future__ import annotations

from gemmgen.check.protocol.record import Key
from gemmgen.plan.steps import Arm, Arrive, Commit, Fill, Item, Load, Mma, Part, Read, Sync, Wait


def slot_name(key: Key) -> str:
    """``ab_full[2] of CTA 1``."""
    return f"{key[0]}[{key[2]}] of CTA {key[1]}"


def _item(item: Item) -> str:
    return f"(tile {item[0]}, k_tile {item[1]})"


def meets(step: Sync) -> str:
    return f"barrier of all threads, {step.where}"


def arms(step: Arm, key: Key) -> str:
    return f"arms {slot_name(key)} with {step.tx_bytes:_} bytes"


def arrives(step: Arrive, key: Key) -> str:
    each = f"{step.count} threads arrive" if step.count > 1 else "arrives"
    return f"{each} on {slot_name(key)}"


def copies(step: Fill) -> str:
    return f"copies {step.operand.upper()} {_item(step.item)} into stage {step.stage}"


def reads(step: Read) -> str:
    return f"reads accumulator slot {step.acc_slot} (tile {step.tile})"


def passes(step: Wait, key: Key) -> str:
    return f"passes its wait for {slot_name(key)}, phase {step.phase}"


def loads(step: Load) -> str:
    return f"loads {step.operand.upper()} {_item(step.item)} into stage {step.stage}"


def lands(step: Load, part: Part, issuer: int, key: Key) -> str:
    """`issuer` is the CTA whose TMA loads."""
    where = "" if part.rank == issuer else f" in CTA {part.rank}"
    name = f"{step.operand.upper()} {_item(step.item)}"
    return f"{name} lands{where}: {part.bytes:_} bytes on {slot_name(key)}"


def multiplies(step: Mma) -> str:
    adds = "overwrites" if step.first else "adds to"
    return f"multiplies stage {step.stage} {_item(step.item)}, {adds} slot {step.acc_slot}"


def has_multiplied(step: Mma) -> str:
    return f"has multiplied stage {step.stage} {_item(step.item)}"


def retires(pending: int) -> str:
    left = f" but the last {pending}" * (pending > 0)
    return f"waits for its MMAs{left}"


def commits(step: Commit) -> str:
    ranks = " and ".join(str(rank) for rank in step.ranks)
    return f"commits to {step.barrier}[{step.slot}] in CTA {ranks}"


def committed(key: Key) -> str:
    return f"arrives on {slot_name(key)}"


def completes(key: Key, phase: int) -> str:
    return f"{slot_name(key)} completes phase {phase}"
