"""Files name their classes by registered names: they survive a rename, and loading one runs no code."""

import json
from dataclasses import dataclass, field, is_dataclass
from typing import get_args, get_type_hints

import numpy as np
import pytest

import steinbox as sb
import steinbox.baselines  # names of what is loaded when it is used
import steinbox.paper.ground_truth
from steinbox.common import serialization
from steinbox.common.serialization import CLASSES, SerializationError, describe_format, pack, serializable, unpack

# Names in users' files. Add to this list; a name that is changed or removed makes files unreadable.
NAMES = {
    "adaptive-ascent",
    "adaptive-batch",
    "adaptive-climbs",
    "adaptive-milestone",
    "adaptive-prediction",
    "adaptive-random-walk",
    "adaptive-state",
    "adaptive-summit",
    "adaptive-surrogate-search",
    "affine-map",
    "affine-map-family",
    "ais-state",
    "archive-source",
    "chain-backlog",
    "climb",
    "climb-curvature",
    "climb-line",
    "climb-slope",
    "climb-top",
    "cluster-family",
    "curve-family",
    "density-family",
    "differential-evolution",
    "evaluation-account",
    "evaluation-archive",
    "evaluation-failure",
    "evaluation-probe",
    "evaluation-unfinished",
    "fitted-density",
    "fixed-random-walk",
    "flat-energy",
    "gaussian",
    "gaussian-kernel",
    "gaussian-mixture",
    "gaussian-process",
    "hierarchical-map",
    "hierarchical-map-family",
    "importance-sampling-state",
    "inverse-multiquadric-kernel",
    "isotropic-quadratic-trend",
    "kernel-adaptive-metropolis",
    "kernel-exponential-family-finite",
    "kernel-exponential-family-lite",
    "kernel-hamiltonian",
    "khmc-settings",
    "log-density-regression",
    "markov-chain-state",
    "mixture",
    "optimizer-state",
    "pullback",
    "random-walk-with-independent-draws",
    "rotated-map-family",
    "rotated-triangular-map",
    "run-arrivals",
    "run-open-batch",
    "run-record",
    "shell-family",
    "composition",
    "gaussianized-map-family",
    "marginal-map",
    "sparse-map-family",
    "smc-state",
    "stein-state",
    "surrogate-density",
    "triangular-map",
    "triangular-map-family",
    "weighted-archive",
}


@pytest.fixture(autouse=True)
def tables(monkeypatch):
    """Every test may register what it likes."""
    monkeypatch.setattr(serialization, "CLASSES", dict(CLASSES))
    monkeypatch.setattr(serialization, "_NAMES", dict(serialization._NAMES))


@serializable("test/step")
@dataclass(frozen=True)
class Step:
    length: float
    direction: tuple = ()


def through_json(value):
    arrays = {}
    return json.loads(json.dumps(pack(value, arrays))), arrays


def forget(name):
    del serialization._NAMES[serialization.CLASSES.pop(name)]


def test_the_names_in_files_are_frozen():
    assert {name for name in CLASSES if "/" not in name} == NAMES


def test_a_name_stands_for_one_class():
    for name in NAMES:
        assert is_dataclass(CLASSES[name])
        assert serialization._NAMES[CLASSES[name]] == name
        assert CLASSES[name].__module__.startswith("steinbox.")


def parts_of(annotation):
    """The annotation and all types it is made of."""
    yield annotation
    for each in get_args(annotation):
        yield from parts_of(each)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_what_a_registered_class_refers_to_is_registered(name):
    for annotation in get_type_hints(CLASSES[name]).values():
        for each in parts_of(annotation):
            if isinstance(each, type) and is_dataclass(each):
                assert each in serialization._NAMES, f"{name} can hold a {each.__name__}"


def test_nothing_is_lost():
    start = sb.Gaussian([0.0, 0.0], std=3.0)
    value = (None, True, 3, np.float64(0.1), np.int64(2), float("inf"), "text", {"key": (np.arange(3),)}, start)
    again = unpack(*through_json(value))
    assert [type(part) for part in again] == [type(part) for part in value]
    assert again[:7] == value[:7]
    np.testing.assert_array_equal(again[7]["key"][0], np.arange(3))
    np.testing.assert_array_equal(again[8].cov, start.cov)


def test_what_is_written_before_a_rename_is_read_after_it():
    tree, arrays = through_json(Step(2.0, (np.ones(2),)))
    forget("test/step")

    @dataclass(frozen=True)
    class Stride:
        length: float
        direction: tuple = ()

    Stride.__module__ = "somewhere.else"
    serializable("test/step")(Stride)
    again = unpack(tree, arrays)
    assert type(again) is Stride
    assert again.length == 2.0
    np.testing.assert_array_equal(again.direction[0], np.ones(2))


def test_a_field_that_was_added_with_a_default_gets_it():
    tree, arrays = through_json(Step(2.0))
    forget("test/step")

    @serializable("test/step")
    @dataclass(frozen=True)
    class Longer:
        length: float
        direction: tuple
        scale: float = 1.0
        seen: dict = field(default_factory=dict)

    first, second = unpack(tree, arrays), unpack(tree, arrays)
    assert first == Longer(2.0, (), 1.0, {})
    assert first.seen is not second.seen


def test_other_fields_are_refused_in_words():
    tree, arrays = through_json(Step(2.0))
    forget("test/step")

    @serializable("test/step")
    @dataclass(frozen=True)
    class Other:
        length: float
        width: float

    message = "of 'test/step' in the file are not those of Other: the file has no 'width'; the class has no 'direction'"
    with pytest.raises(SerializationError, match=message):
        unpack(tree, arrays)


def test_an_unknown_name_is_refused_in_words():
    tree, arrays = through_json((Step(2.0),))
    forget("test/step")
    message = r"the file holds a 'test/step'; register it \(import the module that defines it\) before loading"
    with pytest.raises(SerializationError, match=message):
        unpack(tree, arrays)


@pytest.mark.parametrize("name", ["os:system", "os.system", "steinbox.sample:sample", "builtins.eval", "Gaussian", ""])
def test_loading_makes_nothing_but_what_is_registered(name):
    with pytest.raises(SerializationError, match="the file holds a"):
        unpack({"class": name, "fields": {}}, {})


def test_loading_runs_no_constructor():
    @serializable("test/explosive")
    @dataclass
    class Explosive:
        fuse: int = 0

        def __post_init__(self):
            raise AssertionError("a constructor was called")

    assert unpack({"class": "test/explosive", "fields": {"fuse": 3}}, {}).fuse == 3
    assert unpack({"class": "test/explosive", "fields": {}}, {}).fuse == 0


def test_what_no_file_can_hold_is_refused_in_words():
    with pytest.raises(TypeError, match="a state cannot hold function"):
        pack(lambda: None, {})
    with pytest.raises(TypeError, match="a state cannot hold dict: .* dictionaries with text keys"):
        pack({1: "would come back as '1'"}, {})
    with pytest.raises(SerializationError, match="unknown kind of part, 'set'"):
        unpack({"set": [1]}, {})


def test_a_class_without_a_name_is_told_how_to_get_one():
    @dataclass
    class MyWalkState:
        num_steps: int = 0

    @dataclass(frozen=True)
    class Finer(Step):
        """The name of its parent is not its own."""

    with pytest.raises(TypeError, match=r'write @steinbox.serializable\("my-package/my-walk-state"\) above the @data'):
        pack({"inside": MyWalkState()}, {})
    with pytest.raises(TypeError, match="a file can hold a Finer only under a registered name"):
        pack(Finer(1.0), {})
    assert sb.serializable is serializable


def test_a_name_is_given_once():
    @dataclass
    class Other:
        pass

    with pytest.raises(ValueError, match=r"'test/step' is already the name of .*Step; .*Other needs another one"):
        serializable("test/step")(Other)
    with pytest.raises(ValueError, match="Step is already registered as 'test/step'"):
        serializable("test/stride")(Step)
    assert "test/stride" not in serialization.CLASSES


def test_a_class_that_is_defined_again_takes_its_own_place():
    """A notebook cell that is run twice."""

    def define():
        @serializable("test/cell")
        @dataclass
        class Cell:
            number: int

        return Cell

    define()
    second = define()
    assert type(unpack(*through_json(second(3)))) is second


@pytest.mark.parametrize("name", ["WalkState", "walk_state", "walk state", "a/b/c", "-walk", "", None])
def test_names_have_one_form(name):
    with pytest.raises(ValueError, match="lower case with hyphens"):
        serializable(name)


def test_only_dataclasses_are_registered():
    class Plain:
        pass

    class Child(Step):
        """Its fields are those of its parent: not a dataclass of its own."""

    for cls in (Plain, Child, len):
        with pytest.raises(TypeError, match=r'is not a dataclass; write @serializable\("test/no"\) above @dataclass'):
            serializable("test/no")(cls)


def test_slots_are_no_obstacle():
    @serializable("test/slots")
    @dataclass(frozen=True, slots=True)
    class Slots:
        number: int

    assert unpack(*through_json(Slots(3))) == Slots(3)


def test_another_format_says_what_to_do():
    assert describe_format(3, 4) == (
        "was written by an earlier, unreleased version of steinbox (format 3); this version reads format 4: "
        "read it with the version that wrote it"
    )
    assert "a newer version of steinbox (format 5); this version reads format 4: upgrade" in describe_format(5, 4)
