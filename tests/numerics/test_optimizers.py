"""Optimisers against their formulas, step by step."""

import numpy as np
import pytest

from steinbox.numerics.optimizers import Adagrad, Adam, ConstantRate, CosineDecay, Plain

ALL = [Plain(), Adam(), Adagrad()]


def run(optimizer, directions):
    state = optimizer.start(directions[0].shape)
    steps = []
    for direction in directions:
        step, state = optimizer.step(direction, state, progress=0.0)
        steps.append(step)
    return steps


def test_adam_is_kingma_and_ba_s(rng):
    directions = rng.standard_normal((5, 4, 2))
    first, second = np.zeros((4, 2)), np.zeros((4, 2))
    for t, (direction, step) in enumerate(zip(directions, run(Adam(0.2), directions), strict=True), start=1):
        first, second = 0.9 * first + 0.1 * direction, 0.999 * second + 0.001 * direction**2
        expected = 0.2 * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
        np.testing.assert_allclose(step, expected, rtol=1e-12)


def test_adagrad_is_that_of_the_svgd_code(rng):
    directions = rng.standard_normal((4, 3, 2))
    second = directions[0] ** 2
    for t, (direction, step) in enumerate(zip(directions, run(Adagrad(0.2), directions), strict=True)):
        second = second if t == 0 else 0.9 * second + 0.1 * direction**2
        np.testing.assert_allclose(step, 0.2 * direction / (np.sqrt(second) + 1e-6), rtol=1e-12)


def test_plain_steps_are_plain(rng):
    direction = rng.standard_normal((4, 2))
    np.testing.assert_array_equal(run(Plain(0.3), [direction])[0], 0.3 * direction)


@pytest.mark.parametrize("optimizer", [Adam, Adagrad])
def test_normalization_keeps_the_proportions_it_promises(optimizer):
    direction = np.array([[3.0, 4.0], [0.3, 0.4]])
    coordinate, particle, shared = (
        run(optimizer(1.0, normalization=name, epsilon=1e-15), [direction])[0]
        for name in ("coordinate", "particle", "shared")
    )
    np.testing.assert_allclose(np.abs(coordinate), 1)
    np.testing.assert_allclose(particle[0], particle[1])
    np.testing.assert_allclose(particle[0, 0] / particle[0, 1], 0.75)
    np.testing.assert_allclose(shared[0], 10 * shared[1])


@pytest.mark.parametrize("optimizer", ALL)
def test_a_step_changes_no_input(optimizer, rng):
    direction = rng.standard_normal((3, 2))
    copy, state = direction.copy(), optimizer.start((3, 2))
    optimizer.step(direction, state, 0.0)
    np.testing.assert_array_equal(direction, copy)
    np.testing.assert_array_equal(state.first, 0)
    np.testing.assert_array_equal(state.second, 0)


def test_decay_multiplies_the_learning_rate():
    assert ConstantRate()(0.7) == 1
    assert Adam(0.2, decay=CosineDecay()).step_size(0.5) == pytest.approx(0.1)
    assert CosineDecay(start=0.5, final=0.1)(1.0) == pytest.approx(0.1)
    assert CosineDecay(start=0.5)(0.4) == 1


@pytest.mark.parametrize("optimizer", [Plain, Adam, Adagrad])
def test_bad_settings_are_refused_in_words(optimizer):
    with pytest.raises(ValueError, match="positive learning rate, got 0"):
        optimizer(0.0)
    if optimizer is not Plain:
        with pytest.raises(ValueError, match=r"memory in \[0, 1\), got 1.5"):
            optimizer(memory=1.5)
        with pytest.raises(ValueError, match="'coordinate', 'particle' or 'shared', got 'row'"):
            optimizer(normalization="row")
