"""`frozen` against what ``dataclass(frozen=True)`` makes of the same class."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from typing import Any

import pytest

from gemmgen.frozen import frozen


class Fields:
    """Fields of every sort."""

    name: str
    size: int = 3
    notes: list[str] = dataclasses.field(default_factory=list)

    @property
    def double(self) -> int:
        return 2 * self.size


class Empty:
    """No field."""


def _like(model: type[Any], name: str) -> type[Any]:
    body = {
        key: value for key, value in vars(model).items() if key not in ("__dict__", "__weakref__")
    }
    return type(name, (), {**body, "__qualname__": name, "__module__": __name__})


OURS, THEIRS = (
    frozen(_like(Fields, "Quick")),
    dataclasses.dataclass(frozen=True)(_like(Fields, "Quick")),
)
Quick: Any = OURS
NONE, ONE = frozen(_like(Empty, "NoField")), frozen(_like(Empty, "Other"))
ARGUMENTS = [
    (("a",), {}),
    (("a", 4), {}),
    (("a",), {"size": 5, "notes": ["n"]}),
    ((), {"name": "b"}),
]


@pytest.mark.parametrize(("args", "named"), ARGUMENTS)
def test_a_record_has_the_values_and_the_text_of_a_dataclass(args: Any, named: Any) -> None:
    ours, theirs = OURS(*args, **named), THEIRS(*args, **named)
    assert repr(ours) == repr(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert ours.double == theirs.double


def test_records_are_equal_by_class_and_fields() -> None:
    assert OURS("a", 4) == OURS("a", 4) != OURS("a", 5)
    assert OURS("a") != THEIRS("a")
    assert NONE() == NONE() != ONE()


def test_equal_records_of_hashable_fields_hash_alike() -> None:
    assert hash(OURS("a", 4, ())) == hash(OURS("a", 4, ())) == hash(THEIRS("a", 4, ()))
    assert len({NONE(), NONE()}) == 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(OURS("a"))


def test_a_record_can_be_neither_changed_nor_stripped() -> None:
    record = OURS("a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="'size'"):
        record.size = 4
    with pytest.raises(dataclasses.FrozenInstanceError, match="'size'"):
        del record.size
    with pytest.raises(dataclasses.FrozenInstanceError, match="'other'"):
        record.other = 4


def test_records_share_no_default_that_is_made() -> None:
    first, second = OURS("a"), OURS("a")
    first.notes.append("n")
    assert second.notes == []


@pytest.mark.parametrize(("args", "named"), [((), {}), (("a", 1, [], 0), {}), (("a",), {"no": 1})])
def test_wrong_arguments_are_a_type_error_that_names_the_class(args: Any, named: Any) -> None:
    with pytest.raises(TypeError, match=r"Quick\.__init__\(\)"):
        OURS(*args, **named)


def test_records_can_be_replaced_copied_matched_and_pickled() -> None:
    record = OURS("a", 4, ["n"])
    assert dataclasses.replace(record, size=5) == OURS("a", 5, ["n"])
    assert copy.deepcopy(record) == pickle.loads(pickle.dumps(record)) == record
    assert OURS.__match_args__ == THEIRS.__match_args__
    assert list(inspect.signature(OURS).parameters) == ["name", "size", "notes"]
