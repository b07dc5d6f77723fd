import numpy as np
import pytest

from gemmgen.emulate.errors import Earlier, EmulationError
from gemmgen.emulate.tensor.memory import TensorMemory


def code(call: object, *arguments: object) -> str:
    assert callable(call)
    with pytest.raises(EmulationError) as caught:
        call(*arguments)
    return caught.value.code


def test_allocations_take_the_lowest_free_columns() -> None:
    memory = TensorMemory()
    memory.allocate(0, 64)
    assert memory.find_free(32) == 64
    memory.allocate(64, 32)
    assert memory.find_free(128) == 128
    assert memory.find_free(512) is None
    memory.free(0, 64)
    assert memory.find_free(64) == 0


def test_a_pair_gets_columns_that_are_free_in_both() -> None:
    mine, peer = TensorMemory(), TensorMemory()
    peer.allocate(0, 256)
    assert mine.find_free(256, peer) == 256


@pytest.mark.parametrize("columns", [0, 16, 48, 96, 1024])
def test_only_powers_of_two_from_32_can_be_allocated(columns: int) -> None:
    assert code(TensorMemory().find_free, columns) == "E240"


def test_no_allocation_after_the_permit_is_relinquished() -> None:
    memory = TensorMemory()
    memory.relinquished = Earlier("tcgen05.relinquish_alloc_permit", "CTA (0,0,0), warp 2")
    assert code(memory.find_free, 32) == "E240"


def test_only_a_whole_allocation_can_be_freed_and_only_once() -> None:
    memory = TensorMemory()
    memory.allocate(32, 64)
    assert code(memory.free, 32, 32) == "E241"
    assert code(memory.free, 0, 64) == "E241"
    memory.free(32, 64)
    assert code(memory.free, 32, 64) == "E241"


def test_columns_that_an_mma_still_writes_are_neither_freed_nor_read() -> None:
    memory = TensorMemory()
    memory.allocate(0, 64)
    memory.pending[8:16] += 1
    assert code(memory.free, 0, 64) == "E241"
    assert code(memory.check_settled, 0, 9, "load") == "E243"
    memory.check_settled(0, 8, "load")
    memory.check_settled(16, 48, "load")


def test_use_outside_the_allocation_is_an_error() -> None:
    memory = TensorMemory()
    memory.allocate(32, 32)
    memory.check_owned(32, 32, "load")
    for first, columns in ((31, 2), (63, 2), (500, 32)):
        assert code(memory.check_owned, first, columns, "load") == "E242"


def test_cells_count_as_unwritten_until_written_and_after_reallocation() -> None:
    memory = TensorMemory()
    memory.allocate(0, 32)
    memory.mark_written(32, 32, 4, 8)
    memory.check_written(32, 32, 4, 8, "load")
    assert code(memory.check_written, 32, 32, 4, 9, "load") == "E244"
    assert code(memory.check_written, 16, 32, 4, 8, "load") == "E244"
    memory.free(0, 32)
    memory.allocate(0, 32)
    assert code(memory.check_written, 32, 32, 4, 8, "load") == "E244"
    assert np.isnan(memory.data[32, 4:12].view(np.float32)).all()


def test_columns_are_busy_until_the_warp_that_uses_them_waits() -> None:
    memory = TensorMemory()
    memory.unwaited[4] = [("tcgen05.ld", 0, 32, None)]
    memory.unwaited[5] = [("tcgen05.st", 64, 32, None)]
    assert code(memory.check_waited, 31, 4, "mma") == "E243"
    assert code(memory.check_waited, 60, 8, "mma") == "E243"
    memory.check_waited(32, 32, "mma")
    memory.check_waited(0, 32, "tcgen05.ld", 6)
    assert code(memory.check_waited, 64, 1, "tcgen05.ld", 6) == "E243"
    memory.check_waited(64, 1, "tcgen05.ld", 5)
