"""All rules over one plan, and findings with their place in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from gemmgen.check.agreement import check_agreement
from gemmgen.check.cluster import check_cluster
from gemmgen.check.codes import AGREEMENT
from gemmgen.check.geometry import check_geometry
from gemmgen.check.pipeline import check_pipeline
from gemmgen.check.protocol import check_protocol
from gemmgen.check.protocol_rules import check_barriers
from gemmgen.check.resources import check_resources
from gemmgen.check.roles import check_roles
from gemmgen.check.support import check_support
from gemmgen.check.wgmma import check_wgmma
from gemmgen.plan import Plan, make_plan
from gemmgen.spec import Spec, load
from gemmgen.terms import Finding, GemmgenError

RULES: tuple[Callable[[Plan], Iterator[Finding]], ...] = (
    check_geometry,
    check_resources,
    check_roles,
    check_cluster,
    check_barriers,
    check_pipeline,
    check_wgmma,
)


# Faults of declared barriers: the protocol checker shows where they lead. Any other fault makes a
# kernel that it does not model.
PROTOCOL_RULES = frozenset({"P250", "P251", "P253", "P255", "P256", "P258"})


def check_plan(plan: Plan) -> list[Finding]:
    """Everything wrong with `plan`: codes P201 to P299, each with its arithmetic and a way out.

    The barrier protocol is proved only for plans that a template can print.
    """
    findings = [finding for rule in RULES for finding in rule(plan)]
    found = frozenset(finding.code for finding in findings)
    findings += check_support(plan, found)
    if not findings:
        findings += check_agreement(plan)
    if {finding.code for finding in findings} <= PROTOCOL_RULES | AGREEMENT:
        findings += check_protocol(plan)
    return findings


def check_spec(spec: Spec | Path | str) -> list[Finding]:
    """Everything wrong with a spec; of a path also what the loader finds, with file and line."""
    if isinstance(spec, Spec):
        return check_plan(make_plan(spec))
    try:
        loaded, source = load(spec)
    except GemmgenError as error:
        return error.findings
    return source.place_all(check_plan(make_plan(loaded)))


def load_plan(path: Path | str) -> Plan:
    """The plan of the spec at `path`.

    Raises:
        GemmgenError: with every finding of the loader (S1xx), or of the checker (P2xx).
    """
    spec, source = load(path)
    plan = make_plan(spec)
    findings = check_plan(plan)
    if findings:
        raise GemmgenError(source.place_all(findings))
    return plan
