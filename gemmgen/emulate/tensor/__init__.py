"""The tensor half of the emulator: TMA boxes, matrix descriptors, operands and Tensor Memory.

Everything here is plain functions and classes over numpy arrays: no engine, no registers, no
time. The opcode files in `gemmgen.emulate.ops` call it when an asynchronous operation completes.
"""
