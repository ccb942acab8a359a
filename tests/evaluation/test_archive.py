"""Every evaluation is kept, and can serve a later run."""

import numpy as np
import pytest

import steinbox as sb
from steinbox.evaluation import Evaluation

TARGET = sb.targets.Banana()
START = sb.Gaussian([0.0, 0.0], std=3.0)


def run(**settings):
    defaults = {"method": sb.AnnealedGFSVGD(), "num_particles": 30, "max_evals": 600, "seed": 0}
    return sb.sample(TARGET.log_prob, START, vectorized=True, **defaults | settings)


def test_what_was_paid_for_is_there():
    result = run()
    assert len(result.archive) == result.num_evals == 600
    np.testing.assert_array_equal(result.archive.log_prob, TARGET.log_prob(result.archive.points))
    np.testing.assert_array_equal(result.archive.points[-30:], result.particles)
    assert result.archive.seconds.shape == (600,)


def test_saving_and_loading(tmp_path):
    archive = run().archive
    again = sb.Archive.load(archive.save(tmp_path / "archive.npz"))
    np.testing.assert_array_equal(again.points, archive.points)
    np.testing.assert_array_equal(again.log_prob, archive.log_prob)
    assert repr(again) == "<steinbox.Archive: 600 evaluations in 2 dimensions>"
    (tmp_path / "other").write_text("no archive")
    with pytest.raises(ValueError, match="is not an archive that steinbox saved"):
        sb.Archive.load(tmp_path / "other")
    with pytest.raises(FileNotFoundError):
        sb.Archive.load(tmp_path / "nothing")
    with pytest.raises(ValueError, match=r"Archive expects points \(m, d\)"):
        sb.Archive(np.zeros(3), np.zeros(3), np.zeros(3))


def test_known_values_make_a_better_surrogate():
    """The score that drives the first step, against the target's own; not at the ends of the banana."""
    rng = np.random.default_rng(0)
    points, known = TARGET.sample(30, rng), TARGET.sample(1500, rng)
    evaluation = Evaluation(TARGET.log_prob(points), np.zeros(30, dtype=bool))
    problem = sb.Problem(TARGET, points, 10_000)
    flow = sb.GFSVGD().plan(problem)
    state = flow.start(problem, rng)
    informed = flow.warm_start(state, known, TARGET.log_prob(known))
    exact = TARGET.score(points)
    values = (flow.anneal(each, points, evaluation, np.full(30, False))[0] for each in (state, informed))
    alone, better = (np.median(np.abs(flow.drive.force(each).score - exact)) for each in values)
    assert better < alone / 2


def test_an_archive_is_not_paid_again():
    first = run()
    second = run(archive=first.archive, seed=1)
    assert second.num_evals == len(second.archive) == 600
    assert not np.array_equal(second.particles, run(seed=1).particles)


def test_an_archive_with_bounds():
    bounds = [(-10, 10), (-10, 30)]
    first = run(bounds=bounds)
    wide = sb.Archive(
        np.vstack([first.archive.points, [[50.0, 0.0]]]), np.append(first.archive.log_prob, 0.0), np.zeros(601)
    )
    second = run(bounds=bounds, archive=wide, seed=1)
    np.testing.assert_array_equal(second.particles, run(bounds=bounds, archive=first.archive, seed=1).particles)


def test_a_run_with_an_archive_resumes(tmp_path):
    archive = run().archive

    def interrupt(iteration):
        if iteration.index == 5:
            raise KeyboardInterrupt

    whole = run(archive=archive, seed=1)
    run(archive=archive, seed=1, checkpoint=tmp_path / "run.ckpt", callback=interrupt)
    resumed = run(archive=archive, seed=1, checkpoint=tmp_path / "run.ckpt")
    np.testing.assert_array_equal(resumed.particles, whole.particles)
    with pytest.raises(sb.CheckpointError, match="archive= differs"):
        run(seed=1, checkpoint=tmp_path / "run.ckpt")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": sb.baselines.KAMH()}, "KAMH builds no surrogate and has no use for archive="),
        ({"method": sb.SVGD(), "score": TARGET.score}, "SVGD builds no surrogate"),
        ({"archive": sb.Archive(np.zeros((5, 3)), np.zeros(5), np.zeros(5))}, "an archive of points in 2 dimensions"),
        ({"archive": np.zeros((5, 2))}, "expected an archive"),
    ],
)
def test_nonsense_is_refused_in_words(settings, message):
    with pytest.raises(ValueError, match=message):
        run(**{"archive": run().archive} | settings)
