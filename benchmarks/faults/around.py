"""What goes wrong around a run, not in its log-density alone: the same happens to steinbox and to four other samplers.

Every case is a process of its own with a time limit, as in ``run.py``; a call of the log-density takes a third of a
millisecond, and what happens in mid-run happens after 2,000 calls (that all hang, after 500). The cells:

- "ok": the run came to its end with the right mean and standard deviation; "wrong" if one is off by more than 0.25.
- "kept: WORKERS_LOST": the run ended early, said so, and returned what it had.
- "refused: ValueError": it ended with this exception before the first evaluation; "lost: ValueError" after it.
- "hangs": no end within the time limit.
- "0 live on", "0 files": so many processes, or temporary files, are there ten seconds later.
- "link kept", "link replaced": what is there after a run whose checkpoint was a link to a file that was not there yet.
- "–": nothing was compared: it happens to files, servers or clusters of steinbox only.

Where calls hang, steinbox has a ``max_seconds``; the others have no such setting, or look at it between calls only.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from injections import Around, is_chosen, normal

WRONG = 0.25
CALL_SECONDS = 3e-4
NUM_CALLS = 2_000  # until it happens
AFTERWARDS_SECONDS = 10.0
HOARD = 40_000_000  # numbers, 320 MB
SLOW_SECONDS = 2.0  # of the first call in a process; steinbox has a time-out of one
KILL_EVERY = 1_000  # calls
MAX_SECONDS = 20.0  # of a run whose calls hang
LARGE = 1e18


class Odd(BaseException):
    """Not an Exception."""


@functools.cache
def half(number: int) -> float:
    return number / 2


class Target:
    """The standard Gaussian, with something odd about it; each call leaves a byte in a journal."""

    def __init__(self, kind: str, journal: Path) -> None:
        self.kind, self.journal, self.main_process = kind, journal, os.getpid()

    def __call__(self, x: np.ndarray) -> float:
        with self.journal.open("ab") as file:
            file.write(b".")
            number = file.tell()
        time.sleep(CALL_SECONDS)
        if self.kind == "grows" and number == NUM_CALLS:
            globals()["hoard"] = np.ones(HOARD)  # for as long as this process lives
        if self.kind == "slow first" and (mark := f"WARM_{os.getpid()}") not in os.environ:
            os.environ[mark] = "yes"
            time.sleep(SLOW_SECONDS)
        if self.kind == "hangs" and number >= NUM_CALLS // 4:
            time.sleep(1e6)
        if self.kind == "kills" and number % KILL_EVERY == 0 and os.getpid() != self.main_process:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.kind == "BaseException" and is_chosen(x):
            raise Odd("not an Exception")
        if self.kind == "large" and is_chosen(x):
            return LARGE if number % 2 else -LARGE
        return -half(1) * float(np.dot(x, x)) if self.kind == "cached" else normal(x)


def later(journal: Path, action: Callable[[], None]) -> None:
    """Do it in mid-run."""

    def wait() -> None:
        while journal.stat().st_size < NUM_CALLS:
            time.sleep(0.01)
        action()

    threading.Thread(target=wait, daemon=True).start()


def plain(folder: Path) -> Around:
    return Around()


def with_warnings_as_errors(folder: Path) -> Around:
    np.seterr(all="raise")
    return Around()


def with_little_time(folder: Path) -> Around:
    return Around(max_seconds=MAX_SECONDS)


def with_pool_that_ends(folder: Path) -> Around:
    return Around(spoil_pool=lambda pool: later(folder / "journal", pool.terminate))


def with_folder_that_goes(folder: Path) -> Around:
    place = folder / "place"
    place.mkdir()

    def replace_by_a_file() -> None:
        place.rename(folder / "moved")
        place.touch()

    later(folder / "journal", replace_by_a_file)
    return Around(checkpoint=str(place / "run.h5"))


def with_long_name(folder: Path) -> Around:
    return Around(checkpoint=str(folder / f"{'x' * 300}.h5"))


def with_folder_in_the_way(folder: Path) -> Around:
    (folder / "run.h5").mkdir()
    return Around(checkpoint=str(folder / "run.h5"))


def with_link(folder: Path) -> Around:
    (folder / "elsewhere").mkdir()
    (folder / "run.h5").symlink_to(folder / "elsewhere" / "run.h5")
    return Around(checkpoint=str(folder / "run.h5"))


@dataclass(frozen=True)
class Happening:
    """What happens: how the log-density is odd, what surrounds the run, and who looks at it how."""

    kind: str = ""
    surround: Callable[[Path], Around] = plain
    watch: Callable[[Any, Path], str] | None = None
    look: Callable[[Path], str] | None = None


def kill_while_workers_start(process: Any, folder: Path) -> str:
    parent = psutil.Process(process.pid)
    while len(children := _workers(parent)) < 2 and process.poll() is None:
        time.sleep(0.005)
    process.kill()
    return f"{len(psutil.wait_procs(children, AFTERWARDS_SECONDS)[1])} live on"


def _workers(parent: Any) -> list[Any]:
    """Its children, without those that only watch over resources."""
    try:
        return [each for each in parent.children() if "tracker" not in " ".join(each.cmdline())]
    except psutil.Error:
        return []


def end_the_group(process: Any, folder: Path) -> str:
    while (folder / "journal").stat().st_size < NUM_CALLS and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(AFTERWARDS_SECONDS)
    except subprocess.TimeoutExpired:
        return "lives on"
    deadline = time.monotonic() + AFTERWARDS_SECONDS
    while (files := list((folder / "tmp").iterdir())) and time.monotonic() < deadline:
        time.sleep(0.1)
    return f"{len(files)} files"


def look_at_link(folder: Path) -> str:
    return "link kept" if (folder / "run.h5").is_symlink() else "link replaced"


HAPPENINGS = {
    "grows": Happening("grows"),
    "killed while workers start": Happening(watch=kill_while_workers_start),
    "pool ends": Happening(surround=with_pool_that_ends),
    "folder goes": Happening(surround=with_folder_that_goes),
    "long name": Happening(surround=with_long_name),
    "folder in the way": Happening(surround=with_folder_in_the_way),
    "BaseException": Happening("BaseException"),
    "cached": Happening("cached"),
    "large": Happening("large"),
    "seterr": Happening(surround=with_warnings_as_errors),
    "link": Happening(surround=with_link, look=look_at_link),
    "group": Happening(watch=end_the_group),
    "slow first": Happening("slow first"),
    "kills": Happening("kills"),
    "hangs": Happening("hangs", surround=with_little_time),
}


def run_case(library: str, name: str, seed: int, folder: Path) -> None:
    """In the child process."""
    happening, report = HAPPENINGS[name], folder / "report.json"
    module = importlib.import_module(f"with_{library}")
    try:
        around = happening.surround(folder)
        sample = module.run(Target(happening.kind, folder / "journal"), seed, around)
    except BaseException as error:
        word = "lost" if (folder / "journal").stat().st_size else "refused"
        report.write_text(json.dumps(f"{word}: {type(error).__name__}"))
        raise
    off = max(np.abs(sample.points.mean(axis=0)).max(), np.abs(sample.points.std(axis=0) - 1).max())
    is_right = "ok" if off <= WRONG else "wrong"
    report.write_text(json.dumps(f"kept: {sample.unfinished}" if sample.unfinished else is_right))
    os._exit(0)  # a pool that was terminated may not let go


def watch_case(library: str, name: str, seed: int, limit: float) -> str:
    """The cell; in the parent."""
    happening = HAPPENINGS[name]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "journal").touch()
        (folder / "tmp").mkdir()
        command = [sys.executable, __file__, library, name, f"{seed}", temporary]
        settings = {"start_new_session": True, "env": os.environ | {"TMPDIR": str(folder / "tmp")}}
        with (folder / "output").open("w") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **settings)
        try:
            if happening.watch is not None:
                return happening.watch(process, folder)
            process.wait(limit)
        except subprocess.TimeoutExpired:
            return "hangs"
        finally:
            _end(process)
        cell = json.loads((folder / "report.json").read_text()) if (folder / "report.json").exists() else "lost: died"
        return f"{cell}, {happening.look(folder)}" if happening.look is not None and cell == "ok" else cell


def _end(process: Any) -> None:
    """It and all that it started, if anything is left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


if __name__ == "__main__":
    run_case(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
