"""Plan -> findings: what is illegal, what does not fit, what no template prints yet."""

from __future__ import annotations

from gemmgen.check.run import check_plan, check_spec, load_plan

__all__ = ["check_plan", "check_spec", "load_plan"]
