"""Lets the tests import the helper modules `ptx` and `tensors`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "ops")]
