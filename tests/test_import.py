"""``import steinbox`` is light, and all of its public names are there when they are used."""

import subprocess
import sys

import numpy as np
import pytest

import steinbox as sb

SLOW = ("scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.special", "scipy.stats")
OTHERS = ("IPython", "arviz", "bilby", "matplotlib", "pandas", "pymc", "rich", "tqdm", "typer")
LATER = (
    "adapters",
    "baselines",
    "diagnostics",
    "paper",
    "plotting",
    "samplers.adaptive",
    "samplers.stein",
    "surrogates",
    "targets",
)


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture(scope="module")
def loaded():
    return run("import sys, steinbox; print(*sys.modules)")


@pytest.mark.parametrize("name", [*SLOW, *OTHERS, *(f"steinbox.{each}" for each in LATER)])
def test_importing_steinbox_does_not_import(name, loaded):
    assert "steinbox.sample" in loaded
    assert name not in loaded


def test_the_command_line_imports_no_more_than_it_needs():
    loaded = run("import sys, steinbox.cli; print(*sys.modules)")
    assert "typer" in loaded
    assert {"scipy.special", "scipy.stats", "matplotlib", "steinbox.paper", "steinbox.baselines"}.isdisjoint(loaded)


def test_help_is_quick():
    code = "import sys, steinbox.cli as c\ntry: c.app(['--help'])\nexcept SystemExit: print(*sys.modules)"
    loaded = run(code)
    assert "resume" in loaded
    assert {"http.server", "jinja2", "rich.console", "scipy.special", "tomllib"}.isdisjoint(loaded)


def test_a_default_run_needs_nothing_of_the_paper():
    loaded = run(
        "import sys, steinbox as sb\n"
        "sb.sample(lambda x: -x @ x, sb.Gaussian([0.0], std=1), max_evals=400, num_particles=20, seed=0)\n"
        "print(*sys.modules)"
    )
    assert "steinbox.samplers.adaptive" in loaded
    assert "steinbox.samplers.stein" not in loaded


@pytest.mark.parametrize("order", [1, -1])
def test_every_public_name_is_there_at_once_and_is_what_its_module_has(order):
    """Importing a module sets its name in the package: whatever comes first, a name means the same."""
    code = f"import steinbox as sb; print(*(n + ':' + type(getattr(sb, n)).__name__ for n in sb.__all__[::{order}]))"
    assert sorted(run(code)) == sorted(f"{name}:{type(getattr(sb, name)).__name__}" for name in sb.__all__)
    assert set(sb.__all__) <= set(dir(sb))


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'sampel'"):
        sb.sampel  # noqa: B018


def test_a_result_is_read_where_no_sampler_was_used(tmp_path):
    path = tmp_path / "run.npz"
    target = sb.targets.Banana()
    result = sb.sample(target.log_prob, sb.Gaussian([0, 0], std=3), vectorized=True, max_evals=1_000, seed=0)
    result.save(path)
    loaded = f"sb.Result.load({str(path)!r})"
    code = f"import numpy as np, steinbox as sb; print({loaded}.mixture.log_prob(np.zeros((1, 2)))[0])"
    assert float(run(code)[0]) == result.mixture.log_prob(np.zeros((1, 2)))[0]


def test_a_checkpoint_of_a_baseline_is_known_where_baselines_were_not_used(tmp_path):
    path = tmp_path / "run.ckpt"
    settings = "sb.Gaussian([0.0], std=1), max_evals=400, num_particles=20, seed=0, checkpoint=" + repr(str(path))
    run(f"import steinbox as sb; sb.sample(lambda x: -x @ x, {settings}, method=sb.baselines.SMC())")
    said = "import steinbox as sb\ntry: sb.sample(lambda x: -x @ x, {})\nexcept sb.CheckpointError as e: print(e)"
    assert {"SMC", "another", "run:"} <= set(" ".join(run(said.format(settings))).replace("'", " ").split())
