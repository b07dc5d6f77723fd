"""Spec -> frozen Plan: every number that a kernel needs, with its arithmetic."""

from __future__ import annotations

from gemmgen.plan.barriers import ArrivePlan, BarrierPlan, Flip, Purpose, Unit, WaitPlan
from gemmgen.plan.copies import Copy
from gemmgen.plan.describe import Section, describe, sections
from gemmgen.plan.epilogue import EpiloguePlan, NamedBarrier
from gemmgen.plan.geometry import Geometry
from gemmgen.plan.launch import GridKind, LaunchPlan, ProblemRules
from gemmgen.plan.make import Plan, make_plan
from gemmgen.plan.masks import MaskRule
from gemmgen.plan.memory import FieldKind, SmemField, SmemMap, TmemMap
from gemmgen.plan.output import OutputPlan
from gemmgen.plan.roles import RolePlan
from gemmgen.plan.shapes import Shape, default_shapes, grid, resident_clusters
from gemmgen.plan.values import Constant, ConstantLine, Sum
from gemmgen.plan.walk import WalkPlan

__all__ = [
    "ArrivePlan",
    "BarrierPlan",
    "Constant",
    "ConstantLine",
    "Copy",
    "EpiloguePlan",
    "FieldKind",
    "Flip",
    "Geometry",
    "GridKind",
    "LaunchPlan",
    "MaskRule",
    "NamedBarrier",
    "OutputPlan",
    "Plan",
    "ProblemRules",
    "Purpose",
    "RolePlan",
    "Section",
    "Shape",
    "SmemField",
    "SmemMap",
    "Sum",
    "TmemMap",
    "Unit",
    "WaitPlan",
    "WalkPlan",
    "default_shapes",
    "describe",
    "grid",
    "make_plan",
    "resident_clusters",
    "sections",
]
