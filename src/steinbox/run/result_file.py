"""A result as one ``.npz`` file of arrays and text (no pickle): everything, without loss."""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steinbox.common.arrays import Array
from steinbox.common.files import header_of, load_arrays, save_arrays
from steinbox.common.serialization import SerializationError, describe_format, pack, unpack
from steinbox.evaluation import Archive, Failure, count_failures, require_counts
from steinbox.maps.bounds import Bounds
from steinbox.run.failures import Failures
from steinbox.run.status import Status
from steinbox.samplers.base import Coverage

if TYPE_CHECKING:
    from steinbox.run.result import Result

_FORMAT = 8
_READABLE = (6, 7, 8)  # 7 had no draws from the prior; 6 had no units and no record; 5 had no log-densities of the pool
_PLAIN = (
    "names",
    "num_evals",
    "num_failures",
    "warnings",
    "log_evidence",
    "log_evidence_error",
    "effective_sample_size",
    "pareto_shape",
    "seed",
    "config",
    "version",
    "constants",
    "units",
    "descriptions",
)  # what JSON can hold as it is
_ARRAYS = ("particles", "weights", "log_prob", "pool", "pool_weights", "pool_log_prob")


def require_ending(path: Path) -> None:
    """Refuse a name that does not say which kind of file it is."""
    if path.suffix not in (".npz", ".nc"):
        raise ValueError(
            f"expected a file name that ends in .npz (everything, to be loaded again) or .nc (netCDF, for other "
            f"programs), got {path.name!r}"
        )


def write_result(result: Result, path: Path) -> None:
    """Write everything."""
    header, arrays = _to_header_and_arrays(result)
    save_arrays(path, {"header": np.array(json.dumps(header)), **arrays})


def read_result(path: str | Path) -> dict[str, Any]:
    """The fields of a result, of what :func:`write_result` wrote."""
    if not Path(path).is_dir() and Path(path).exists() and not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is not a result that steinbox saved: it is not an .npz file")
    try:
        arrays = load_arrays(path)
        header = header_of(arrays)
        number = _format_number(header.pop("format", None))
        if number in _READABLE:
            return _from_header_and_arrays(header, arrays)
    except FileNotFoundError:
        raise
    except SerializationError as error:
        raise ValueError(f"{path} cannot be loaded here: {error}") from error
    except Exception as error:
        raise ValueError(f"{path} is not a result that steinbox saved: {error}") from error
    raise ValueError(f"{path} {describe_format(number, _FORMAT)}")


def _to_header_and_arrays(result: Result) -> tuple[dict[str, Any], dict[str, Array]]:
    of_mixture: dict[str, Array] = {}
    of_record: dict[str, Array] = {}
    of_arrivals: dict[str, Array] = {}
    header = {name: getattr(result, name) for name in _PLAIN} | {
        "format": f"steinbox-result-{_FORMAT}",
        "bounds": None if result.bounds is None else result.bounds.to_json(),
        "failures": {kind: failure.to_json() for kind, failure in result.failures.items()},
        "status": result.status.name,
        "mixture": pack(result.mixture, of_mixture),
        "record": pack(result.record, of_record),
        "arrivals": pack(result.arrivals, of_arrivals),
        "coverage": None if result.coverage is None else asdict(result.coverage),
    }
    arrays = {name: getattr(result, name) for name in _ARRAYS}
    if result.prior_draws is not None:
        arrays["prior_draws"] = result.prior_draws
    arrays |= {f"mixture/{name}": values for name, values in of_mixture.items()}
    arrays |= {f"record/{name}": values for name, values in of_record.items()}
    arrays |= {f"arrivals/{name}": values for name, values in of_arrivals.items()}
    arrays |= {f"archive/{name}": values for name, values in result.archive.to_arrays().items()}
    arrays |= {f"trace/{name}": values for name, values in result.trace.items()}
    return header, arrays


def _from_header_and_arrays(header: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Any]:
    if header["mixture"] is not None:
        import steinbox.samplers.adaptive  # noqa: F401 (registers the densities that it may be made of)
    trace, archive = _pop_prefix(arrays, "trace/"), Archive.from_arrays(_pop_prefix(arrays, "archive/"))
    header |= {
        "names": tuple(header["names"]),
        "warnings": tuple(header["warnings"]),
        "bounds": None if header["bounds"] is None else Bounds.from_json(header["bounds"]),
        "failures": Failures({kind: Failure.from_json(data) for kind, data in header["failures"].items()}),
        "status": Status[header["status"]],
        "coverage": None if header["coverage"] is None else Coverage(**header["coverage"]),
        "mixture": unpack(header["mixture"], _pop_prefix(arrays, "mixture/")),
        "prior_draws": arrays.pop("prior_draws", None),
        "record": unpack(header.get("record"), _pop_prefix(arrays, "record/")),
        "arrivals": unpack(header.get("arrivals"), _pop_prefix(arrays, "arrivals/")),
    }
    require_counts(header["num_evals"], header["failures"], archive)
    header["num_failures"] = count_failures(header["failures"])
    return {"trace": trace, "archive": archive} | header | {name: arrays[name] for name in _ARRAYS}


def _format_number(text: object) -> int:
    found = re.fullmatch(r"steinbox-result-(\d{1,9})", str(text))
    if found is None:
        raise ValueError(f"its format is {text!r}")
    return int(found[1])


def _pop_prefix(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    """The arrays whose names start so, taken out."""
    return {name.removeprefix(prefix): arrays.pop(name) for name in list(arrays) if name.startswith(prefix)}
