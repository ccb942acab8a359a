"""Log-densities that live elsewhere: the same values, and faults in words."""

import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import urllib.error
import urllib.request
import warnings
from concurrent.futures import ThreadPoolExecutor

import cloudpickle
import numpy as np
import psutil
import pytest
from scipy import stats

import steinbox as sb
import steinbox.adapters
from steinbox.adapters import ProgramError, PyMCModel, Subprocess, UMBridge, UMBridgeError

START = sb.Gaussian([0.0, 0.0], std=3.0)
POINT = np.array([0.1, -2.0])


def run(log_prob, **settings):
    return sb.sample(log_prob, START, **{"num_particles": 20, "max_evals": 200, "seed": 1} | settings)


def normal(x):
    return -0.5 * ((x[0] - 1) ** 2 + x[1] ** 2)


def at_some_points(x):
    """One point in twenty, by digits that no sampler chooses; with seed 1 none of the first batch."""
    return 0.8 < 100 * x[0] - np.floor(100 * x[0]) < 0.85


def normal_that_raises(x):
    if at_some_points(x):
        raise RuntimeError("no convergence")
    return normal(x)


def test_the_adapters_are_leaves():
    code = "import sys, steinbox; print([name for name in sys.modules if name.startswith('steinbox.adapters')])"
    code += "; import steinbox.adapters; print(sorted({'pymc', 'umbridge', 'requests', 'pytensor'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "[]"]
    assert sb.adapters.Subprocess is Subprocess


# -- programs ----------------------------------------------------------------------------------------------------------

C_PROGRAM = """
    #include <math.h>
    #include <stdio.h>
    #include <stdlib.h>

    int main(int argc, char **argv) {
        double x, y;
        if (scanf("%lf %lf", &x, &y) != 2) return 2;
        if (argc > 1 && 100 * x - floor(100 * x) > 0.8 && 100 * x - floor(100 * x) < 0.85) {
            fprintf(stderr, "no convergence\\n");
            abort();
        }
        printf("a simulator of 1978\\n%.17g\\n\\n", -0.5 * ((x - 1) * (x - 1) + y * y));
        return 0;
    }
"""

SHELL_SCRIPT = """\
#!/bin/sh
case "$1" in
    exit) echo "out of memory" >&2; echo 1.0; exit 3 ;;
    crash) echo "about to crash" >&2; kill -SEGV $$ ;;
    garbage) echo 1.0; echo "no convergence after 100 steps" ;;
    nothing) ;;
    two) echo "1.0 2.0" ;;
    say) echo "$2" ;;
    chatter) i=0; while [ $i -lt 20000 ]; do echo "line $i of a long complaint" >&2; i=$((i+1)); done; exit 1 ;;
    one-line) head -c 1000000 /dev/zero | tr '\\0' 'a' >&2; exit 1 ;;
    hang) sleep 1000 & echo $! > "$2"; echo "iterating" >&2; wait ;;
    leave) sleep 1000 & echo $! > "$2"; echo 1.0 ;;
    env) echo "$STEINBOX_TEST" ;;
    pwd) [ "$(pwd -P)" = "$2" ] && echo 1.0 ;;
    echo) read -r line; echo "$line" > "$2"; echo 1.0 ;;
    *) read -r x y; echo "$x $y" | awk '{printf "%.17g\\n", -0.5 * (($1 - 1) ^ 2 + $2 ^ 2)}' ;;
esac
"""


@pytest.fixture(scope="module")
def c_program(tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.c").write_text(C_PROGRAM)
    command = [compiler, "-ffp-contract=off", "-o", folder / "program", folder / "program.c", "-lm"]
    subprocess.run(command, check=True)
    return folder / "program"


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    if shutil.which("sh") is None:
        pytest.skip("no shell")
    path = tmp_path_factory.mktemp("script") / "script.sh"
    path.write_text(SHELL_SCRIPT)
    path.chmod(0o755)
    return path


def is_alive(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def assert_soon_dead(pid):
    deadline = time.monotonic() + 5
    while is_alive(pid):
        assert time.monotonic() < deadline, "the grandchild is still there"
        time.sleep(0.01)


def test_programs_give_the_values_of_the_function(c_program, script, rng):
    compiled, interpreted = Subprocess(c_program, input="text"), Subprocess([script], input="text")
    for x in rng.normal(size=(5, 2)):
        assert compiled(x) == normal(x)
        assert interpreted(x) == pytest.approx(normal(x), rel=1e-12)


@pytest.mark.parametrize(("form", "line"), [("json", "[0.1, -2.0]"), ("text", "0.1 -2.0")])
def test_the_point_arrives_as_one_line_and_to_the_last_digit(script, tmp_path, form, line):
    log_prob = Subprocess([script, "echo", tmp_path / "line"], input=form)
    assert log_prob(POINT) == 1.0
    assert (tmp_path / "line").read_text() == line + "\n"
    log_prob(np.array([1 / 3, 1e-300]))
    assert "0.3333333333333333" in (tmp_path / "line").read_text()


@pytest.mark.parametrize("executor", [None, 2, "threads"])
def test_a_program_is_sampled_like_the_function(c_program, executor):
    """Crashes are counted where they happen, with what the program said, and harm one point each."""
    reference = run(normal_that_raises)
    assert 2 <= reference.num_failures < 20
    with ThreadPoolExecutor(2) as threads:
        executor = threads if executor == "threads" else executor
        result = run(Subprocess([c_program, "faulty"], input="text"), executor=executor)
    assert result.status is sb.Status.BUDGET_SPENT
    # log-densities of the program differ in their last digit, and climbs take differences of them
    np.testing.assert_allclose(result.particles, reference.particles, rtol=1e-9, atol=1e-9)
    assert {name: failure.count for name, failure in result.failures.items()} == {"exception": reference.num_failures}
    assert "SIGABRT" in result.failures["exception"].message
    assert "no convergence" in result.failures["exception"].message


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("exit", r"script.sh: expected exit code 0, got 3; the last it wrote to stderr:\nout of memory$"),
        ("crash", r"was killed by the signal SIGSEGV; the last it wrote to stderr:\nabout to crash$"),
        ("garbage", "expected one number as the last line of output, got 'no convergence after 100 steps'$"),
        ("two", "expected one number as the last line of output, got '1.0 2.0'$"),
        ("nothing", "expected one number as the last line of output, got no output$"),
        ("chatter", "got 1; the last it wrote to stderr:\nline 19990 of(.*\n){9}line 19999 of a long complaint$"),
        ("one-line", "got 1; the last it wrote to stderr:\na{1000}$"),
    ],
)
def test_faults_say_what_happened(script, case, message):
    with pytest.raises(ProgramError, match=message) as caught:
        Subprocess([script, case], timeout=30)(POINT)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("./no-such-program", r"could not be started: No such file or directory: ./no-such-program$"),
        ("awk -f no-such-program", r"No such file .*there is no shell: give the program and its arguments as a list"),
        (["./no such program", "1"], r"No such file or directory: ./no such program$"),
        ("/", "could not be started: Permission denied"),
    ],
)
def test_a_program_that_is_not_there(command, message):
    with pytest.raises(ProgramError, match=message):
        Subprocess(command)(POINT)
    with pytest.raises(sb.TargetError, match="could not be started"):
        run(Subprocess(command))


def test_a_hanging_program_dies_with_all_that_it_started(script, tmp_path):
    start = time.monotonic()
    with pytest.raises(ProgramError, match=r"no answer within timeout=0.3 seconds and was killed.*\niterating"):
        Subprocess([script, "hang", tmp_path / "pid"], timeout=0.3)(POINT)
    assert time.monotonic() - start < 5
    assert_soon_dead(int((tmp_path / "pid").read_text()))


def test_a_program_that_leaves_a_process_with_its_output(script, tmp_path):
    with pytest.raises(ProgramError, match=r"ended, but what it started held its output open"):
        Subprocess([script, "leave", tmp_path / "pid"], timeout=0.3)(POINT)
    assert_soon_dead(int((tmp_path / "pid").read_text()))


def test_the_time_limit_of_the_run_also_ends_the_program(script, tmp_path, monkeypatch):
    """The evaluator kills the worker process; the program that ran in it must not stay behind."""
    monkeypatch.setattr("steinbox.evaluation.processes.START_SECONDS", 0.1)
    monkeypatch.setattr("steinbox.evaluation.evaluator.MAX_INITIAL_FAILURES", 2)
    with pytest.raises(sb.TargetError, match="no answer within timeout=0.5"):
        run(Subprocess([script, "hang", tmp_path / "pid"]), num_particles=2, executor=1, timeout=0.5)
    assert_soon_dead(int((tmp_path / "pid").read_text()))


def test_ctrl_c_ends_the_program(script, tmp_path):
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        Subprocess([script, "hang", tmp_path / "pid"])(POINT)
    assert_soon_dead(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize(
    ("word", "kind"), [("-inf", None), ("nan", "nan"), ("-nan", "nan"), ("inf", "infinite"), ("-Infinity", None)]
)
def test_special_values_are_left_to_the_evaluator(script, word, kind):
    log_prob = Subprocess([script, "say", word])
    np.testing.assert_equal(log_prob(POINT), abs(float(word)) if "nan" in word else float(word))

    def away_from_the_middle(x):
        return log_prob(x) if at_some_points(x) else normal(x)

    result = run(away_from_the_middle)
    assert result.status is sb.Status.BUDGET_SPENT
    assert list(result.failures) == ([] if kind is None else [kind])


def test_folder_and_environment(script, tmp_path):
    assert Subprocess([script, "env"], env={"STEINBOX_TEST": "-7.5"})(POINT) == -7.5
    assert Subprocess([script, "pwd", os.path.realpath(tmp_path)], cwd=tmp_path)(POINT) == 1.0
    with pytest.raises(ProgramError, match="No such file or directory: /no/such/folder"):
        Subprocess([script], cwd="/no/such/folder")(POINT)


def test_long_points_a_program_does_not_read(script):
    assert Subprocess([script, "say", "1.5"])(np.ones(100_000)) == 1.5


@pytest.mark.parametrize("module", [pickle, cloudpickle])
def test_a_subprocess_travels(script, module):
    log_prob = Subprocess([script, "env"], env={"STEINBOX_TEST": "-7.5"}, timeout=30)
    copy = module.loads(module.dumps(log_prob))
    assert copy(POINT) == -7.5
    assert copy.timeout == 30


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"command": []}, TypeError, r"expected command to be a program, or a list of it and its arguments, got \[\]"),
        ({"command": ["program", 1.5]}, TypeError, "got .*1.5"),
        ({"input": "xml"}, ValueError, "expected input to be 'json' or 'text', got 'xml'"),
        ({"timeout": 0}, ValueError, "expected timeout to be a positive number of seconds, got 0"),
    ],
)
def test_nonsense_is_refused_in_words(settings, error, message):
    with pytest.raises(error, match=message):
        Subprocess(**{"command": "program"} | settings)


# -- UM-Bridge ---------------------------------------------------------------------------------------------------------

SERVER = """
    import sys, time
    import umbridge

    class Normal(umbridge.Model):
        sizes, offers_gradient = [1, 0, 1], True
        def get_input_sizes(self, config={}):
            return self.sizes
        def get_output_sizes(self, config={}):
            return [1]
        def __call__(self, parameters, config={}):
            x, y = [value for block in parameters for value in block]
            if "value" in config:
                return [[float(config["value"])]]
            if config.get("raises"):
                raise RuntimeError("no convergence")
            time.sleep(config.get("seconds", 0))
            return [[-0.5 * ((x - config.get("mean", 1.0)) ** 2 + y**2)]]
        def supports_evaluate(self):
            return True
        def gradient(self, out_wrt, in_wrt, parameters, sens, config={}):
            return [sens[0] * ([1.0 - parameters[0][0]], [], [-parameters[2][0]])[in_wrt][0]]
        def supports_gradient(self):
            return self.offers_gradient

    class Plain(Normal):
        sizes, offers_gradient = [2], False

    class Wide(Plain):
        def get_output_sizes(self, config={}):
            return [2]

    class Mute(Plain):
        def supports_evaluate(self):
            return False

    models = [Normal("posterior"), Plain("plain"), Wide("wide"), Mute("mute")]
    umbridge.serve_models(models, port=int(sys.argv[1]))
"""


def start_server(folder):
    """A UM-Bridge server of its own, and its address, once it answers."""
    pytest.importorskip("umbridge")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "server.py").write_text(textwrap.dedent(SERVER))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([sys.executable, folder / "server.py", str(port)], **quiet)
    url = f"http://127.0.0.1:{port}"
    for _ in range(1_000):
        try:
            with urllib.request.urlopen(f"{url}/Info"):
                return server, url
        except urllib.error.URLError:
            assert server.poll() is None, "the server did not start"
            time.sleep(0.02)
    raise AssertionError("the server does not answer")


def stop(server):
    server.kill()
    server.wait()


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    server, url = start_server(tmp_path_factory.mktemp("umbridge"))
    yield url
    stop(server)


@pytest.fixture
def mortal(tmp_path):
    server, url = start_server(tmp_path)
    yield server, url
    stop(server)


def test_a_model_gives_the_values_and_slopes_of_the_function(url, rng):
    model = UMBridge(url)
    assert (model.dimension, model.input_sizes, model.has_score) == (2, (1, 0, 1), True)
    for x in rng.normal(size=(5, 2)):
        assert model(x) == normal(x)
        np.testing.assert_array_equal(model.score(x), [1 - x[0], -x[1]])
    assert UMBridge(url + "/", config={"mean": 3.0})(np.array([3.0, 0.0])) == 0.0


def test_a_model_is_sampled_like_the_function(url):
    np.testing.assert_array_equal(run(UMBridge(url)).particles, run(normal).particles)
    model = UMBridge(url)
    by_score = run(model, score=model.score, method=sb.SVGD(), max_evals=60)
    here = run(normal, score=lambda x: np.array([1 - x[0], -x[1]]), method=sb.SVGD(), max_evals=60)
    np.testing.assert_array_equal(by_score.particles, here.particles)


def test_a_model_travels(url):
    model = UMBridge(url, "plain")
    assert pickle.loads(pickle.dumps(model))(POINT) == normal(POINT)
    np.testing.assert_array_equal(run(model, executor=1, max_evals=60).particles, run(normal, max_evals=60).particles)


@pytest.mark.parametrize("value", ["-inf", "inf", "nan"])
def test_special_values_that_json_does_not_know(url, value):
    np.testing.assert_equal(UMBridge(url, config={"value": value})(POINT), float(value))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("prior", "expected a model 'prior' at http://127.0.0.1:.*, got posterior, plain, wide, mute"),
        ("wide", r"expected the model 'wide' to have output sizes \[1\], got \[2\]"),
        ("mute", "'mute' does not support Evaluate"),
    ],
)
def test_models_of_another_kind_are_refused(url, name, message):
    with pytest.raises(UMBridgeError, match=message):
        UMBridge(url, name)


def test_errors_of_the_server_in_words(url):
    with pytest.raises(UMBridgeError, match=r"expected JSON from the server, got \(HTTP status 500\)"):
        UMBridge(url, config={"raises": True})(POINT)
    with pytest.raises(UMBridgeError, match="no answer from http.* within timeout=0.2 seconds"):
        UMBridge(url, config={"seconds": 1.0}, timeout=0.2)(POINT)
    with pytest.raises(UMBridgeError, match="'plain' offers no gradient"):
        UMBridge(url, "plain").score(POINT)
    lying = UMBridge(url, "plain")
    lying.input_sizes, lying.dimension = (1,), 1
    with pytest.raises(UMBridgeError, match="the model reported InvalidInput: Input parameter 0 has invalid length"):
        lying(np.zeros(1))


def test_a_point_of_another_shape_is_refused(url):
    with pytest.raises(ValueError, match=r"expected a point of shape \(2,\), got shape \(3,\)"):
        UMBridge(url)(np.zeros(3))


def test_no_server_at_all():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(UMBridgeError, match="no answer from http://127.0.0.1.*refused"):
            UMBridge(f"http://127.0.0.1:{free.getsockname()[1]}")
    with pytest.raises(ValueError, match="expected url to start with http"):
        UMBridge("localhost:4242")
    with pytest.raises(ValueError, match="expected timeout to be a positive number"):
        UMBridge("http://localhost:4242", timeout=-1)


def test_a_server_that_dies_leaves_a_valid_result(mortal):
    server, url = mortal
    model = UMBridge(url)
    settings = {
        "method": sb.AnnealedGFSVGD(),
        "callback": lambda iteration: stop(server) if iteration.index == 3 else None,
    }
    result = run(model, **settings)
    assert result.status is sb.Status.TARGET_FAILED
    assert "no answer from" in result.failures["exception"].message
    assert np.isfinite(result.particles).all()
    assert len(result.archive) == result.num_evals - result.num_failures >= 60
    with pytest.raises(sb.TargetError, match="no answer from"):
        run(model)


# -- PyMC --------------------------------------------------------------------------------------------------------------

DATA = np.array([1.3, 0.2, 2.1, 1.7, 0.9])


@pytest.fixture(scope="module")
def pymc():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ warns of its future when it is imported
        return pytest.importorskip("pymc")


@pytest.fixture(scope="module")
def normal_model(pymc):
    """A normal mean and a half-normal deviation. PyMC computes the logarithm of a plain 2 in single precision."""
    with pymc.Model() as model:
        mu = pymc.Normal("mu", 0, np.float64(2))
        sigma = pymc.HalfNormal("sigma", 1)
        pymc.Deterministic("ratio", mu / sigma)
        pymc.Normal("y", mu, sigma, observed=DATA)
    return PyMCModel(model, mode="FAST_COMPILE")


def exact(mu, log_sigma):
    """The unnormalised posterior's logarithm; the last term is the Jacobian's."""
    sigma = np.exp(log_sigma)
    likelihood = sum(stats.norm(mu, sigma).logpdf(value) for value in DATA)
    return stats.norm(0, 2).logpdf(mu) + stats.halfnorm(0, 1).logpdf(sigma) + likelihood + log_sigma


def test_a_model_has_the_density_of_the_formula(normal_model, rng):
    assert normal_model.names == ("mu", "sigma_log__")
    assert normal_model.dimension == normal_model.initial.dimension == 2
    for x in rng.normal(size=(5, 2)):
        assert normal_model.log_prob(x) == pytest.approx(exact(*x), rel=1e-12)


def test_the_score_is_the_slope(normal_model, rng):
    for x in rng.normal(size=(3, 2)):
        steps = 1e-6 * np.eye(2)
        slope = [(normal_model.log_prob(x + step) - normal_model.log_prob(x - step)) / 2e-6 for step in steps]
        np.testing.assert_allclose(normal_model.score(x), slope, rtol=1e-5, atol=1e-6)


def test_the_particles_have_the_moments_of_the_posterior(normal_model):
    mu, log_sigma = np.meshgrid(np.linspace(-4, 6, 400), np.linspace(-4, 3, 400), indexing="ij")
    mass = np.exp(exact(mu, log_sigma))
    mass /= mass.sum()
    result = sb.sample(
        normal_model.log_prob,
        normal_model.initial,
        names=normal_model.names,
        num_particles=100,
        max_evals=3_000,
        seed=0,
    )
    assert result.num_failures == 0
    for k, values in enumerate((mu, log_sigma)):
        mean = (mass * values).sum()
        deviation = np.sqrt((mass * (values - mean) ** 2).sum())
        assert result.particles[:, k].mean() == pytest.approx(mean, abs=0.2 * deviation)
        assert result.particles[:, k].std() == pytest.approx(deviation, rel=0.2)


def test_particles_in_the_model_s_own_variables(normal_model, rng):
    particles = rng.normal(size=(7, 2))
    named = normal_model.to_named(particles)
    assert list(named) == ["mu", "sigma", "ratio"]
    np.testing.assert_allclose(named["sigma"], np.exp(particles[:, 1]))
    np.testing.assert_allclose(named["ratio"], named["mu"] / named["sigma"])


def test_arrays_are_raveled_and_named(pymc, rng):
    with pymc.Model() as model:
        pymc.Normal("theta", 0, [1, 2, 3], shape=(2, 3))
        pymc.Dirichlet("share", np.ones(3))
        pymc.Uniform("phase", 0, 2)
    adapted = PyMCModel(model, mode="FAST_COMPILE")
    assert adapted.names == (
        *(f"theta[{i},{j}]" for i in range(2) for j in range(3)),
        *("share_simplex__[0]", "share_simplex__[1]", "phase_interval__"),
    )
    particles = rng.normal(size=(4, 9))
    named = adapted.to_named(particles)
    np.testing.assert_array_equal(named["theta"], particles[:, :6].reshape(4, 2, 3))
    np.testing.assert_allclose(named["share"].sum(axis=1), 1)
    np.testing.assert_allclose(named["phase"], 2 / (1 + np.exp(-particles[:, 8])))
    np.testing.assert_allclose(adapted.score(particles[0])[:6], -particles[0, :6] / np.array([1, 4, 9] * 2))


def test_a_compiled_model_travels(normal_model):
    normal_model.log_prob(POINT)
    copy = cloudpickle.loads(cloudpickle.dumps(normal_model.log_prob))
    assert "_log_prob" not in vars(copy.__self__), "compiled functions are large, and are made anew"
    assert copy(POINT) == normal_model.log_prob(POINT)


def test_models_that_have_no_density_are_refused(pymc, normal_model):
    with pymc.Model() as counts:
        pymc.Poisson("number", 3.0)
    with pytest.raises(ValueError, match="continuous parameters alone, but number is discrete"):
        PyMCModel(counts)
    with pytest.raises(ValueError, match="expected a model with free parameters"):
        PyMCModel(pymc.Model())
    with pytest.raises(TypeError, match="expected model to be something like pymc.Model"):
        PyMCModel(normal)
    with pytest.raises(ValueError, match=r"expected a point of shape \(2,\), got shape \(3,\)"):
        normal_model.log_prob(np.zeros(3))
