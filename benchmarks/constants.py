"""The numbers in the default sampler: how many there are, and which of them matter.

A constant is a private name of a module with numbers as its value, or a field of ``Tuning``, in the files that
``AdaptiveImportanceSampling`` imports from the rooms below; a name with several numbers counts as so many. Numbers
written in the midst of code are counted beside them, but for 0, 1, 2, 4 and 1/2, which are arithmetic, and for powers
of ten up to 1e-6 or so, which keep a division or a root from failing.

``python benchmarks/constants.py --count`` prints how many there are, file by file. Without ``--count`` every constant
is halved and doubled, one at a time, on problems for development that run through it with 5,000 evaluations; the table
``benchmarks/results/constants.md`` says on how many of these any particle changed, and the geometric mean of the ratio
of the MMD. Its first line, runs with other seeds, says what is chance.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# isort: split
import argparse
import ast
import functools
import importlib
import multiprocessing
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "accuracy"))

import generator

import steinbox as sb
from steinbox.samplers.adaptive.tuning import Tuning

PACKAGE = Path(sb.__file__).parent
TABLE = Path(__file__).parent / "results" / "constants.md"
ROOMS = ("samplers/adaptive/", "densities/", "numerics/", "maps/", "numerics/tails.py")
NOT_ITS_OWN = ("local_surrogate.py", "surrogate_search.py", "annealed_draws.py", "quadrature.py")  # SurrogateSearch
COMPUTING = "numerics/pairwise/"  # sizes of tiles: they change no result
START = "samplers/adaptive/method.py"
ARITHMETIC = (0, 1, 2, 4, 0.5)
MOST_OF_A_GUARD = 1.01e-6


# -- finding them ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Constant:
    """A name in a module, or a field of Tuning, and how many numbers it has."""

    file: str
    name: str
    number: int

    @property
    def module(self) -> Any:
        return importlib.import_module("steinbox." + self.file.removesuffix(".py").replace("/", "."))

    @property
    def is_field(self) -> bool:
        return not self.name.isupper()

    @property
    def value(self) -> Any:
        return getattr(Tuning() if self.is_field else self.module, self.name)


@functools.cache
def files() -> list[str]:
    """What the default imports, directly or not, from the rooms."""
    found, waiting = set[str](), [START]
    while waiting:
        file = waiting.pop()
        if file in found or not file.startswith(ROOMS) or Path(file).name in NOT_ITS_OWN or COMPUTING in file:
            continue
        found.add(file)
        for node in ast.walk(ast.parse((PACKAGE / file).read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("steinbox."):
                inside = node.module.removeprefix("steinbox.").replace(".", "/")
                waiting += [each for each in (f"{inside}.py", f"{inside}/__init__.py") if (PACKAGE / each).exists()]
    return sorted(found)


def find_constants() -> list[Constant]:
    return [each for file in files() for each in _constants_of(file)]


def _constants_of(file: str) -> Iterator[Constant]:
    tree = ast.parse((PACKAGE / file).read_text())
    for node in tree.body:
        for target, value in _assigned(node):
            if target.isupper() and _numbers(value) and not _functions(value):
                yield Constant(file, target, len(_numbers(value)))
        if isinstance(node, ast.ClassDef) and node.name == "Tuning":
            for field in node.body:
                for target, _ in _assigned(field):
                    yield Constant(file, target, 1)


def _assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Names and what is assigned to them, also several at once."""
    match node:
        case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, value) if value is not None:
            yield name, value
        case ast.Assign([ast.Tuple(names)], ast.Tuple(values)):
            yield from ((name.id, value) for name, value in zip(names, values, strict=True))


def _numbers(tree: ast.AST) -> list[float]:
    """The numbers in an expression; a fraction, and a number with a sign, is one."""
    found, inner = list[float](), set[int]()
    for node in ast.walk(tree):
        if id(node) in inner:
            continue
        if isinstance(node, ast.BinOp | ast.UnaryOp):
            parts = (node.operand,) if isinstance(node, ast.UnaryOp) else (node.left, node.right)
            if all(isinstance(each, ast.Constant) for each in parts):
                inner |= {id(each) for each in parts}
                found.append(float(eval(compile(ast.Expression(node), "", "eval"))))
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            found.append(float(node.value))
    return found


def _functions(tree: ast.AST) -> bool:
    """Whether it makes something else of the numbers: anything but an array."""
    names = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return any(not name.startswith("np.") for name in names)


def numbers_in_code(file: str) -> list[float]:
    """In functions and defaults, but for arithmetic and guards; of subscripts, axes and counts of places nothing."""
    tree, found = ast.parse((PACKAGE / file).read_text()), list[float]()
    skipped = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Subscript) for part in ast.walk(node.slice)}
    skipped |= {id(part) for node in tree.body if list(_assigned(node)) for part in ast.walk(node)}
    skipped |= {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name == "Tuning"
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) not in skipped and isinstance(node, ast.Constant) and type(node.value) in (int, float):
            found.append(node.value)
    return [each for each in found if each not in ARITHMETIC and abs(each) > MOST_OF_A_GUARD]


def count() -> None:
    named, inline = Counter[str](), Counter[str]()
    names = find_constants()
    for each in names:
        named[each.file] += each.number
    for file in files():
        inline[file] = len(numbers_in_code(file))
    print("| file | names | numbers in them | numbers in code |\n|---|---|---|---|")
    for file in files():
        if named[file] or inline[file]:
            print(f"| {file} | {sum(each.file == file for each in names)} | {named[file]} | {inline[file]} |")
    print(f"| all | {len(names)} | {named.total()} | {inline.total()} |")


# -- runs --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """What is run, and exact draws to compare with, in units of their spread."""

    log_prob: Callable[[np.ndarray], np.ndarray]
    start: sb.Gaussian
    exact: np.ndarray
    max_evals: int = 5_000
    num_particles: int = 200
    noise: float = 0.0

    def run(self, seed: int = 0, tuning: Tuning | None = None) -> sb.Result:
        rng = np.random.default_rng(seed)
        return sb.sample(
            (lambda x: self.log_prob(x) + self.noise * rng.standard_normal(len(x))) if self.noise else self.log_prob,
            self.start,
            vectorized=True,
            num_particles=self.num_particles,
            max_evals=self.max_evals,
            method=sb.AdaptiveImportanceSampling(tuning=tuning or Tuning()),
            noise=True if self.noise else None,
            progress=False,
            seed=seed,
        )

    def mmd(self, result: sb.Result) -> float:
        return sb.mmd(result.particles / self.scale, self.exact / self.scale)

    @property
    def scale(self) -> np.ndarray:
        return np.ptp(np.quantile(self.exact, [0.16, 0.84], axis=0), axis=0)


@functools.cache
def problems() -> dict[str, Problem]:
    """Problems for development: even numbers, a banana, one with noise, and one with few evaluations."""
    rng, found = np.random.default_rng(1), {}
    for number in (72, 148):
        made = generator.generate(number)
        start = sb.Gaussian(made.start_mean, std=made.start_std)
        found[f"generated{number}"] = Problem(made.target.log_prob, start, made.target.sample(2_000, rng))
    banana, start = sb.targets.Banana(), sb.Gaussian([0, 0], std=3)
    exact = banana.sample(2_000, rng)
    found["banana, noise"] = Problem(banana.log_prob, start, exact, noise=1.0)
    found["banana, few evaluations"] = Problem(banana.log_prob, start, exact, max_evals=600, num_particles=100)
    return found


def names_used(problem: Problem) -> set[tuple[str, str]]:
    """Files and names that functions which a run calls mention."""
    codes = set[CodeType]()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    problem.run()
    sys.setprofile(profile)
    try:
        problem.run()
    finally:
        sys.setprofile(None)
    return {(code.co_filename, name) for code in codes for name in code.co_names}


@contextmanager
def changed(constant: Constant, factor: float) -> Iterator[Tuning]:
    """With a constant that many times as large, in every module that has it; counts stay counts."""
    value = _times(constant.value, factor)
    if constant.is_field:
        yield Tuning(**{constant.name: value})
        return
    before = constant.value
    places = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("steinbox") and getattr(module, constant.name, None) is before
    ]
    places = [constant.module, *(each for each in places if each is not constant.module and _imports(each, constant))]
    for module in places:
        setattr(module, constant.name, value)
    try:
        yield Tuning()
    finally:
        for module in places:
            setattr(module, constant.name, before)


def _imports(module: Any, constant: Constant) -> bool:
    tree = ast.parse(Path(module.__file__).read_text())
    source = constant.module.__name__
    return any(isinstance(node, ast.ImportFrom) and node.module == source for node in ast.walk(tree))


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, bool | str):
        return value
    if isinstance(value, dict):
        return {key: _times(each, factor) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(_times(each, factor) for each in value)
    if isinstance(value, int):
        return max(int(value * factor), 1)
    return value * factor


def try_constant(task: tuple[Constant, float, list[str]]) -> dict[str, tuple[bytes, float]]:
    """Particles and MMD by problem."""
    constant, factor, names = task
    found = {}
    with changed(constant, factor) as tuning:
        for name in names:
            try:
                result = problems()[name].run(tuning=tuning)
                found[name] = (result.particles.tobytes(), problems()[name].mmd(result))
            except Exception as error:  # a matrix that cannot be inverted says enough
                found[name] = (repr(error).encode(), np.nan)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--only", nargs="+", help="names of constants; nothing is written then")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.count:
        count()
        return
    base = {name: problem.run() for name, problem in problems().items()}
    height = {name: problems()[name].mmd(result) for name, result in base.items()}
    used = {name: names_used(problem) for name, problem in problems().items()}
    lines = [_chance(height)]
    constants = [each for each in find_constants() if not arguments.only or each.name in arguments.only]
    tasks = [(each, factor, _reached(each, used)) for each in constants for factor in (0.5, 2.0)]
    with multiprocessing.get_context("fork").Pool(arguments.jobs) as pool:
        for (constant, factor, names), found in zip(tasks, pool.imap(try_constant, tasks), strict=True):
            some = [name for name in names if found[name][0] != base[name].particles.tobytes()]
            ratios = [np.log(found[name][1] / height[name]) for name in names]
            mean = f"{np.exp(np.mean(ratios)):.2f}" if ratios else ""
            worst = f"{max(np.exp(ratios)):.2f}" if ratios else ""
            text = f"`{constant.name}` | {constant.file} | {_short(constant.value)} | {factor:g}"
            lines.append(f"| {text} | {len(some)} of {len(names)} | {mean} | {worst} |")
            print(lines[-1], flush=True)
    if not arguments.only:
        TABLE.write_text(_head() + "\n".join(lines) + "\n")


def _chance(height: dict[str, float]) -> str:
    again = [(name, problems()[name].run(seed)) for name in height for seed in (1, 2)]
    ratios = [np.log(problems()[name].mmd(result) / height[name]) for name, result in again]
    mean, error = np.exp(np.mean(ratios)), np.std(ratios) / np.sqrt(len(height))
    return f"| other seeds | | | | | {mean:.2f} ± {error:.2f} | {np.exp(max(ratios)):.2f} |"


def _head() -> str:
    return (
        f"`python benchmarks/constants.py`, {date.today()}. Each constant halved and doubled, on the problems whose "
        f"runs mention it ({', '.join(problems())}; the one with noise only if no other does): how many of these runs "
        "changed at all, and the MMD over that of the run as it is, geometric mean and worst. Nothing is said of a "
        "constant that no run mentions, or that is at work in many dimensions only.\n\n"
        "| constant | file | value | times | changed | MMD | worst |\n|---|---|---|---|---|---|---|\n"
    )


def _reached(constant: Constant, used: dict[str, set[tuple[str, str]]]) -> list[str]:
    """The problems whose runs mention it; of a field of Tuning, in any file."""
    own = str(PACKAGE / constant.file)
    found = [
        name
        for name, pairs in used.items()
        if any(
            mention == constant.name and (file == own or constant.is_field or not constant.name.startswith("_"))
            for file, mention in pairs
        )
    ]
    return [name for name in found if not problems()[name].noise] or found


def _short(value: Any) -> str:
    if isinstance(value, dict | np.ndarray):
        return "several"
    return f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
