"""Race detection: happens-before by vector clocks over threads and asynchronous work.

``docs/model.md`` says what is modelled, with the source of each rule.
"""

from gemmgen.emulate.race.detector import RaceDetector
from gemmgen.emulate.race.rules import Rules

__all__ = ["RaceDetector", "Rules"]
