"""The evaluator: it counts and checks evaluations, and a fault fails only its own point."""

import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import steinbox as sb
from steinbox.evaluation import Calls, Evaluator, StoppedError, TargetError

POINTS = np.arange(8.0).reshape(4, 2)


def evaluator(log_prob, *, score=None, vectorized=False, max_evals=100):
    return Evaluator(Calls(log_prob, score=score, vectorized=vectorized), max_evals=max_evals)


def first_failure(calls):
    return str(next(iter(calls.failures.values())))


def at_the_third(bad):
    """A scalar log-density that returns (or raises) something else at the third point."""

    def log_prob(x):
        if x[0] == 4:
            if isinstance(bad, Exception):
                raise bad
            return bad
        return -x.sum()

    return log_prob


@pytest.mark.parametrize("vectorized", [False, True])
def test_values_are_counted_and_returned_in_order(vectorized):
    calls = evaluator((lambda x: -x.sum(axis=1)) if vectorized else (lambda x: -x.sum()), vectorized=vectorized)
    np.testing.assert_array_equal(calls(POINTS).log_prob, -POINTS.sum(axis=1))
    calls(POINTS[:1])
    assert (calls.num_evals, calls.num_failures, calls.num_remaining) == (5, 0, 95)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (np.nan, "returned nan"),
        (np.inf, "returned inf"),
        (1j, "one real number"),
        (None, "None"),
        ("3", "'3'"),
        ([1.0, 2.0], "one real number"),
        (ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"),
    ],
)
def test_a_bad_value_fails_its_own_point_only(bad, reason):
    calls = evaluator(at_the_third(bad))
    evaluation = calls(POINTS)
    np.testing.assert_array_equal(evaluation.failed, [False, False, True, False])
    np.testing.assert_array_equal(evaluation.log_prob, [-1, -5, -np.inf, -13])
    assert calls.num_failures == 1
    assert reason in first_failure(calls)
    assert "x = [4.0, 5.0]" in first_failure(calls)


def test_minus_infinity_is_a_value_not_a_failure():
    evaluation = evaluator(at_the_third(-np.inf))(POINTS)
    assert not evaluation.failed.any()
    assert evaluation.log_prob[2] == -np.inf


def test_a_vectorized_function_that_raises_is_asked_row_by_row():
    def log_prob(x):
        if (x[:, 0] == 4).any():
            raise ValueError("no four")
        return -x.sum(axis=1)

    calls = evaluator(log_prob, vectorized=True)
    np.testing.assert_array_equal(calls(POINTS).log_prob, [-1, -5, -np.inf, -13])
    assert calls.num_evals == 4


def test_vectorized_shapes_are_understood_or_refused():
    column = evaluator(lambda x: -x.sum(axis=1, keepdims=True), vectorized=True)
    np.testing.assert_array_equal(column(POINTS).log_prob, -POINTS.sum(axis=1))
    scalar = evaluator(lambda x: x.sum(), vectorized=True)
    with pytest.raises(TargetError, match=r"shape \(4,\) .* got shape \(\)\. Is it a function of one point"):
        scalar(POINTS)


def test_what_a_user_s_object_raises_while_it_is_read_fails_its_point():
    class Rude:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("leave me alone")

    calls = evaluator(at_the_third(Rude()))
    np.testing.assert_array_equal(calls(POINTS).failed, [False, False, True, False])
    assert "got Rude, which raised RuntimeError when read" in first_failure(calls)


@pytest.mark.parametrize("vectorized", [False, True])
def test_torch_tensors_are_values(vectorized):
    torch = pytest.importorskip("torch", reason="the [torch] extra is not installed")
    weight = torch.ones(2, dtype=torch.float64, requires_grad=True)
    calls = evaluator(lambda x: -(torch.from_numpy(x) * weight).sum(-1), vectorized=vectorized)
    np.testing.assert_array_equal(calls(POINTS).log_prob, -POINTS.sum(axis=1))


def test_scores_are_judged_too():
    def score(x):
        return np.full(2, np.nan) if x[0] == 4 else -x

    calls = evaluator(lambda x: -0.5 * x @ x, score=score)
    evaluation = calls(POINTS)
    np.testing.assert_array_equal(evaluation.failed, [False, False, True, False])
    np.testing.assert_array_equal(evaluation.score[[0, 1, 3]], -POINTS[[0, 1, 3]])
    assert np.isfinite(evaluation.score).all()
    outside = evaluator(lambda x: -np.inf if x[0] == 4 else 0.0, score=score)(POINTS)
    assert not outside.failed.any(), "outside the support a score may be anything"
    wrong = evaluator(lambda x: 0.0, score=lambda x: 1.0)
    with pytest.raises(TargetError, match="expected 2 real numbers"):
        wrong(POINTS)


def test_the_user_cannot_change_our_points():
    def log_prob(x):
        x[:] = 0
        return 0.0

    points = POINTS.copy()
    evaluator(log_prob)(points)
    np.testing.assert_array_equal(points, POINTS)


def test_the_user_cannot_change_our_points_all_at_once():
    def log_prob(x):
        x[:] = 0
        return np.zeros(len(x))

    points = POINTS.copy()
    evaluator(log_prob, vectorized=True)(points)
    np.testing.assert_array_equal(points, POINTS)


def test_of_several_failures_the_first_is_shown():
    calls = evaluator(lambda x: np.nan if x[0] in (2, 6) else 0.0)
    assert calls(POINTS).failed.sum() == 2
    assert "x = [2.0, 3.0]" in first_failure(calls)


ANYTHING = st.one_of(
    st.floats(),
    st.integers(),
    st.booleans(),
    st.complex_numbers(),
    st.none(),
    st.text(),
    st.binary(),
    st.lists(st.floats(), max_size=3),
    arrays(st.sampled_from([float, np.float32, np.int8, complex, bool, object]), array_shapes(min_dims=0, max_dims=3)),
)


@pytest.mark.parametrize("vectorized", [False, True])
@settings(max_examples=50)
@given(returned=st.lists(ANYTHING, min_size=4, max_size=4))
def test_whatever_is_returned_is_a_value_or_a_failure(returned, vectorized):
    """Of four calls the first is right, so that the run is not stopped."""
    values = iter([0.0, *returned])

    def log_prob(x):
        if not vectorized or len(x) == 1:
            value = next(values)
            return [value] if vectorized else value
        raise ValueError("one by one")

    calls = evaluator(log_prob, vectorized=vectorized)
    evaluation = calls(np.arange(10.0).reshape(5, 2))
    assert evaluation.log_prob[0] == 0
    assert not np.isnan(evaluation.log_prob).any()
    assert (evaluation.log_prob < np.inf).all()
    assert (evaluation.log_prob[evaluation.failed] == -np.inf).all()
    assert calls.num_failures == evaluation.failed.sum()
    assert len(calls.archive) == 5 - calls.num_failures


@given(returned=ANYTHING)
def test_whatever_a_vectorised_function_returns_is_judged(returned):
    calls = evaluator(lambda x: returned, vectorized=True)
    try:
        evaluation = calls(POINTS)
    except TargetError:
        assert calls.num_failures == 4
    else:
        assert not np.isnan(evaluation.log_prob).any()


def test_the_budget_is_a_limit():
    calls = evaluator(lambda x: 0.0, max_evals=5)
    calls(POINTS)
    with pytest.raises(ValueError, match="at most the 1 evaluations left, got 4 points"):
        calls(POINTS)


def test_a_start_at_which_all_fail_carries_the_user_s_traceback():
    calls = evaluator(lambda x: undefined_name)  # noqa: F821
    with pytest.raises(TargetError, match="the first 4 evaluations all failed.* NameError.*line") as caught:
        calls(POINTS)
    assert "undefined_name" in caught.value.__notes__[0]
    assert "steinbox/evaluate" not in caught.value.__notes__[0]


@pytest.mark.parametrize("vectorized", [False, True])
def test_a_bug_stops_after_fifty_calls_not_after_the_batch(vectorized):
    num_calls = 0

    def log_prob(x):
        nonlocal num_calls
        num_calls += 1
        raise NameError("a bug")

    with pytest.raises(TargetError, match="the first 50 evaluations all failed"):
        evaluator(log_prob, vectorized=vectorized)(np.zeros((80, 2)))
    assert num_calls == 50 + vectorized


def test_a_batch_that_is_stopped_keeps_what_was_done():
    """Counted while it goes on, which another thread may look at, and given up after the call that runs."""
    made = []

    def log_prob(x):
        made.append(calls.num_made)
        if x[0] == 2:
            calls.stop()
        time.sleep(0.06)  # longer than half a block: one call each
        return -x.sum()

    calls = evaluator(log_prob)
    with pytest.raises(StoppedError):
        calls(POINTS)
    assert made == [0, 1]
    assert calls.num_evals == calls.num_made == len(calls.archive) == 2


def test_a_user_s_interrupt_passes_through():
    def log_prob(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluator(log_prob)(POINTS)


@pytest.mark.parametrize("bad", [True, np.bool_(False), np.ma.masked, np.ma.array([3], mask=[True])], ids=range(4))
def test_truth_values_and_masked_numbers_are_no_log_density(bad):
    calls = evaluator(at_the_third(bad))
    np.testing.assert_array_equal(calls(POINTS).failed, [False, False, True, False])
    assert re.search("returned a masked number|expected one real number", calls.failures["no number"].message)


def test_truth_values_and_masked_numbers_are_no_log_density_all_at_once():
    calls = evaluator(lambda x: np.ma.array(x[:, 0], mask=x[:, 0] == 4), vectorized=True)
    np.testing.assert_array_equal(calls(POINTS).failed, [False, False, True, False])
    assert "returned a masked number" in calls.failures["no number"].message
    with pytest.raises(TargetError, match="log_prob returned .*, expected one real number"):
        evaluator(lambda x: x[:, 0] > 3, vectorized=True)(POINTS)


@pytest.mark.parametrize(
    "function", [lambda x: -float(x @ x), lambda x: float(x[0]), lambda x: 0.0 if x[0] > 0 else -1.0]
)
def test_a_function_of_one_point_that_is_called_vectorized_gets_a_hint(function):
    with pytest.raises(
        TargetError, match=r"all failed.*Is it a function of one point\? Then leave vectorized=True out"
    ):
        evaluator(function, vectorized=True)(POINTS)


@pytest.mark.parametrize("function", [lambda x: -(x[:, 0] ** 2), lambda x: -(x**2).sum(axis=1), lambda x: -(x**2)])
def test_a_function_of_rows_gets_a_hint(function):
    hint = r"all failed.*Does it take all points at once, one in each row\? Then set vectorized=True"
    with pytest.raises(TargetError, match=hint):
        evaluator(function)(POINTS)
    with pytest.raises(TargetError) as caught:
        evaluator(lambda x: 1 / 0)(POINTS)
    assert "vectorized" not in str(caught.value)


def test_failures_of_a_wide_start_are_no_reason_to_stop():
    calls = evaluator(lambda x: np.nan if x[0] % 2 else 0.0, max_evals=4_000)
    for _ in range(4):
        calls(np.column_stack([np.arange(50.0), np.zeros(50)]))
    assert calls.num_failures == 100
    assert not calls.fails_too_often


def test_the_rate_of_failures_is_that_of_the_last_200():
    calls = evaluator(lambda x: np.nan if x[0] > 0 else 0.0, max_evals=4_000)
    good, bad = np.zeros((100, 2)), np.vstack([np.zeros((1, 2)), np.ones((99, 2))])
    for batch in (good, good, bad):
        calls(batch)
        assert not calls.fails_too_often, "the start, and half of a window"
    calls(good)
    assert calls.fails_too_often, "99 of the last 200"
    calls(good)
    assert not calls.fails_too_often


def test_failures_far_from_the_target_do_not_end_a_run():
    """A scan looks where a seventh of all calls fail; at the target one in forty does, which is warned of."""

    def fails_beyond(points):
        return np.where(points[:, 0] < 2, -0.5 * (points**2).sum(axis=1), np.nan)

    start = sb.Gaussian([0.0, 0.0], std=3.0)
    result = sb.sample(fails_beyond, start, vectorized=True, num_particles=50, max_evals=5_000, seed=0)
    assert result.status is not sb.Status.TOO_MANY_FAILURES
    assert "scan" in result.trace["proposers"]
    assert result.num_failures > 200
    assert any("of the last evaluations failed" in each for each in result.warnings)
    truth = np.log(2 * np.pi) + np.log(0.97725)
    assert abs(result.log_evidence - truth) < 2 * result.log_evidence_error < 0.2
