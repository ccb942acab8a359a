"""Mixtures of Gaussians as stacked arrays: the same as one Gaussian at a time, whichever way they are made."""

import numpy as np
import pytest

import steinbox as sb
from steinbox.common.serialization import pack, unpack


@pytest.fixture(params=[(1, 1), (1, 5), (3, 2), (16, 7)], ids=str)
def parts(request, rng):
    number, dimension = request.param
    roots = rng.normal(size=(number, dimension, dimension))
    covs = roots @ roots.swapaxes(1, 2) + 0.1 * np.eye(dimension)
    return rng.uniform(0.5, 2, number), 3 * rng.normal(size=(number, dimension)), covs


def one_at_a_time(parts):
    weights, means, covs = parts
    return weights / weights.sum(), [sb.Gaussian(mean, cov=cov) for mean, cov in zip(means, covs, strict=True)]


def test_it_is_the_same_from_components_and_from_arrays(parts, rng):
    weights, means, covs = parts
    points = rng.normal(size=(50, means.shape[1]))
    stacked, listed = sb.GaussianMixture.from_arrays(*parts), sb.GaussianMixture(one_at_a_time(parts)[1], weights)
    np.testing.assert_array_equal(stacked.log_prob(points), listed.log_prob(points))
    np.testing.assert_array_equal(stacked.components[-1].cov, covs[-1])
    np.testing.assert_array_equal(listed.components[0].mean, means[0])
    for draw in ("sample", "quasi_random"):
        ours, theirs = (getattr(each, draw)(9, np.random.default_rng(0)) for each in (stacked, listed))
        np.testing.assert_array_equal(ours, theirs)


def test_density_score_and_responsibilities_are_sums_over_gaussians(parts, rng):
    mixture, (weights, gaussians) = sb.GaussianMixture.from_arrays(*parts), one_at_a_time(parts)
    points = mixture.sample(50, rng)
    terms = np.stack([weight * np.exp(each.log_prob(points)) for weight, each in zip(weights, gaussians, strict=True)])
    np.testing.assert_allclose(mixture.log_prob(points), np.log(terms.sum(axis=0)), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(mixture.responsibilities(points), (terms / terms.sum(axis=0)).T, rtol=1e-9, atol=1e-12)
    scores = np.stack([each.score(points) for each in gaussians])
    expected = (terms[:, :, None] * scores).sum(axis=0) / terms.sum(axis=0)[:, None]
    np.testing.assert_allclose(mixture.score(points), expected, rtol=1e-8, atol=1e-8)


def test_it_survives_being_saved(parts, rng):
    mixture, arrays = sb.GaussianMixture.from_arrays(*parts), {}
    mixture.log_prob(parts[1])  # what it keeps for later is not saved
    again = unpack(pack(mixture, arrays), arrays)
    np.testing.assert_array_equal(again.log_prob(parts[1]), mixture.log_prob(parts[1]))
    assert len(again.components) == mixture.num_components


def test_they_print_on_one_line():
    gaussian = sb.Gaussian(np.arange(30.0), cov=np.eye(30) + 0.1)
    assert repr(gaussian) == (
        "<steinbox.Gaussian: mean [ 0.  1. ... 28. 29.], std [1.0488 1.0488 ... 1.0488 1.0488], correlated>"
    )
    assert repr(sb.Gaussian(0.5, std=2.0)) == "<steinbox.Gaussian: mean [0.5], std [2.]>"
    assert repr(sb.GaussianMixture([gaussian] * 16)) == "<steinbox.GaussianMixture: 16 components in 30 dimensions>"


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="positive definite cov; its smallest eigenvalue is -1"):
        sb.GaussianMixture.from_arrays(np.ones(2), np.zeros((2, 2)), np.stack([np.eye(2), -np.eye(2)]))
    with pytest.raises(ValueError, match=r"got shapes \(2, 2\) and \(1, 2, 2\)"):
        sb.GaussianMixture.from_arrays(np.ones(2), np.zeros((2, 2)), np.eye(2)[None])
    with pytest.raises(ValueError, match="finite means"):
        sb.GaussianMixture.from_arrays(np.ones(1), np.full((1, 2), np.nan), np.eye(2)[None])
    with pytest.raises(ValueError, match="2 positive weights"):
        sb.GaussianMixture.from_arrays(np.ones(1), np.zeros((2, 1)), np.ones((2, 1, 1)))


def test_mixture_refuses_nonsense_in_words():
    with pytest.raises(ValueError, match="same dimension"):
        sb.GaussianMixture([sb.Gaussian(0, std=1), sb.Gaussian([0, 0], std=1)])
    with pytest.raises(ValueError, match="1 positive weights"):
        sb.GaussianMixture([sb.Gaussian(0, std=1)], weights=[-1])
