"""The faults of ``benchmarks/faults`` on a Dask cluster: each costs its point, and each is counted exactly.

Not of a function that kills its worker whenever it is called: Dask may give up a worker that dies while it starts, and
is then left without any. That a worker may die is tested in ``test_executors.py``. Calls that hang take half a minute,
and on a busy machine one that does not may be as late.
"""

import pytest
from injections import DIMENSION, FAULTS, Faulty

import steinbox as sb

REPORTED_AS = {"NaN": "nan", "+inf": "infinite", "exception": "exception", "hang": "timeout"}
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, when a worker is killed


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


KINDS = [pytest.param(kind, marks=[pytest.mark.slow] * (kind == "hang")) for kind in FAULTS if kind != "kill"]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_fault_is_counted_exactly_under_dask(kind, asynchronous, client, tmp_path):
    journal = tmp_path / "journal"
    journal.touch()
    result = sb.sample(
        Faulty(kind, journal),
        sb.Gaussian([0.0] * DIMENSION, std=3.0),
        method=sb.AdaptiveImportanceSampling(stop_early=False),
        executor=client,
        asynchronous=asynchronous,
        timeout=2.0 if kind == "hang" else None,
        num_particles=20,
        max_evals=300,
        seed=1,
    )
    points = set(journal.read_text().split())
    assert len(points) >= 2
    expected = {REPORTED_AS[kind]: len(points)} if kind in REPORTED_AS else {}
    assert {name: failure.count for name, failure in result.failures.items()} == expected
    assert result.status is sb.Status.BUDGET_SPENT
    assert result.num_evals == 300
