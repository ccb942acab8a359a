"""A run after one of its iterations, and the bytes of a checkpoint file that hold it.

.. code-block:: text

   steinbox checkpoint 2      the format
   9f86d081884c7d65…          SHA-256 of the rest
   PK…                        an .npz file of arrays, and a header of JSON
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.files import load_arrays
from steinbox.common.serialization import SerializationError, describe_format, pack, unpack
from steinbox.common.text import plain_tree
from steinbox.evaluation import Account, Archive, Unfinished, require_counts
from steinbox.run.arrivals import Arrivals, OpenBatch
from steinbox.run.loop import trace_columns
from steinbox.run.record import Record

# 1 named classes by module; in 2 climbs were other classes; 3 had no derived quantities, 4 no record; in 5 sources of
# draws had no step; 6 had other fits
_FORMAT = 7
_FIRST_LINE = re.compile(rb"steinbox checkpoint (\d{1,9})\n")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All that a run needs to continue: the problem it belongs to, and its state after an iteration."""

    problem: Mapping[str, Any]
    seed: int
    generator: Mapping[str, Any]
    account: Account
    archive: Archive
    state: Any
    trace: tuple[Mapping[str, float | str], ...]
    record: Record | None = None
    arrivals: Arrivals | None = None
    opened: tuple[OpenBatch, ...] = ()
    unfinished: Unfinished | None = None


class UnreadableError(Exception):
    """Why a file does not hold a snapshot, said after its name."""


def encode(snapshot: Snapshot) -> bytes:
    """The content of a checkpoint file."""
    arrays: dict[str, Array] = {}
    header = {
        "problem": snapshot.problem,
        "seed": snapshot.seed,
        "generator": snapshot.generator,
        "account": pack(snapshot.account, arrays),
        "archive": pack(snapshot.archive, arrays),
        "state": pack(snapshot.state, arrays),
        "trace": pack(trace_columns(snapshot.trace), arrays),
        "record": pack(snapshot.record, arrays),
        "arrivals": pack(snapshot.arrivals, arrays),
        "opened": pack(snapshot.opened, arrays),
        "unfinished": pack(snapshot.unfinished, arrays),
    }
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, header=np.array(json.dumps(header)), **arrays)
    content = buffer.getvalue()
    return b"steinbox checkpoint %d\n%s\n%s" % (_FORMAT, hashlib.sha256(content).hexdigest().encode(), content)


def decode(data: bytes) -> Snapshot:
    """The snapshot in the content of a checkpoint file.

    Raises
    ------
    UnreadableError
        If the file is damaged, of another format, or something else altogether.
    SerializationError
        If the file is intact but holds what the classes of this program do not fit.
    """
    import steinbox.baselines  # (all samplers register their states, which the file may hold)
    import steinbox.samplers.adaptive
    import steinbox.samplers.stein  # noqa: F401

    content = _verify(data)
    try:
        arrays = load_arrays(content)
        header = json.loads(str(arrays.pop("header")))
        header["account"] = plain_tree(header["account"])  # the rest is compared, and shown by nobody
        account, archive, state, trace, record = (
            unpack(header[key], arrays) for key in ("account", "archive", "state", "trace", "record")
        )
        if not (isinstance(account, Account) and isinstance(archive, Archive) and is_dataclass(state)):
            raise ValueError("it holds no state of a run")
        arrivals, opened = unpack(header.get("arrivals"), arrays), unpack(header.get("opened"), arrays) or ()
        if not isinstance(record, Record | None):
            raise ValueError("it holds no record of a run")
        if not (isinstance(arrivals, Arrivals | None) and all(isinstance(each, OpenBatch) for each in opened)):
            raise ValueError("it holds no log of a run")
        unfinished = unpack(header.get("unfinished"), arrays)
        if not isinstance(unfinished, Unfinished | None):
            raise ValueError("it holds no values of a run")
        require_counts(account.num_evals, account.failures, archive)
        problem, seed, generator = dict(header["problem"]), int(header["seed"]), dict(header["generator"])
        found = Snapshot(problem, seed, generator, account, archive, state, _rows(trace), record)
        return replace(found, arrivals=arrivals, opened=opened, unfinished=unfinished)
    except SerializationError:
        raise
    except Exception as error:
        raise UnreadableError(f"cannot be read ({error})") from error


def _verify(data: bytes) -> bytes:
    """What follows the first two lines, if these are what they should be."""
    first_line = _FIRST_LINE.match(data)
    if first_line is None:
        raise UnreadableError("is not a checkpoint")
    if int(first_line[1]) != _FORMAT:
        raise UnreadableError(describe_format(int(first_line[1]), _FORMAT))
    checksum, _, content = data[first_line.end() :].partition(b"\n")
    if hashlib.sha256(content).hexdigest().encode() != checksum:
        raise UnreadableError("is damaged (its checksum is wrong)")
    return content


def _rows(columns: Mapping[str, Array]) -> tuple[dict[str, float | str], ...]:
    values = [column.tolist() for column in columns.values()]
    return tuple(dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True))
