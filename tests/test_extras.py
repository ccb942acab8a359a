"""What is not installed is named, with the extra that brings it."""

import importlib
import sys

import numpy as np
import pytest

import steinbox as sb
from steinbox.paper import datasets
from steinbox.plotting.canvas import new_figure
from steinbox.report import render


def evaluate_in(executor):
    return sb.sample(lambda x: -float(x @ x), sb.Gaussian([0.0], std=1.0), executor=executor, max_evals=400)


def import_anew(name):
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, name, raising=False)
        importlib.import_module(name)


def plot_anew():
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, "steinbox.plotting.figure", raising=False)
        new_figure(None, 1, 1)


class OnlyMap:
    map = map


PARTS = {"arviz": ("arviz", "arviz_base")}  # either is enough
NEEDS = {
    "matplotlib": (plot_anew, "plot"),
    "arviz": (lambda: sb.Result.to_arviz(None), "arviz"),
    "jinja2": (lambda: render(None), "report"),
    "loky": (lambda: evaluate_in(1), "parallel"),
    "cloudpickle": (lambda: evaluate_in(OnlyMap()), "parallel"),
    "bilby": (lambda: import_anew("steinbox.adapters.bilby"), "bilby"),
    "pooch": (lambda: datasets._fetch("http://localhost", None, "glass", "give a path"), "data"),
}


@pytest.mark.parametrize("module", NEEDS)
def test_a_missing_module_names_its_extra(module, monkeypatch):
    for part in PARTS.get(module, (module,)):
        for name in [name for name in sys.modules if name.split(".")[0] == part]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, part, None)  # Python then says that there is none
    call, extra = NEEDS[module]
    with pytest.raises((ImportError, datasets.DataNotFoundError), match=rf'pip install "steinbox\[{extra}\]"'):
        call()


def test_nothing_else_is_needed_to_sample():
    assert np.isfinite(evaluate_in(None).log_prob).all()
