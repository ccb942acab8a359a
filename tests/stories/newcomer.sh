#!/usr/bin/env bash
# A newcomer's way, from the built wheel in an empty environment: install, `steinbox demo`, the report in a browser, the
# tutorial, the notebooks. Once it is installed, nothing may reach a network. `make newcomer` builds it first.
set -euo pipefail
repository="$(cd "$(dirname "$0")/../.." && pwd)"
wheel="$(ls "$repository"/dist/steinbox-*.whl)" || { echo "no wheel in dist/: run make dist" >&2; exit 1; }
python="${PYTHON:-python3}"
home="$(mktemp -d)"
trap 'rm -rf "$home"' EXIT

echo "1. An empty environment, and the wheel"
"$python" -m venv "$home/venv"
"$home/venv/bin/python" -m pip install --quiet --disable-pip-version-check -c "$repository/constraints.txt" \
  "$wheel[all]" nbclient nbformat ipykernel
site="$("$home/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
cp "$repository/tests/stories/no_network.py" "$site/no_network.py"
echo "import no_network" > "$site/no_network.pth"

cd "$home"
run() { env -i HOME="$home" PATH="$home/venv/bin:/usr/bin:/bin" OPENBLAS_NUM_THREADS=1 MPLBACKEND=Agg "$@"; }
if run python -c 'import urllib.request; urllib.request.urlopen("http://192.0.2.1", timeout=2)' 2> refused; then exit 1; fi
grep -q "no network" refused

echo "2. steinbox demo"
run steinbox demo --no-progress --out demo-output
run python -c "import steinbox; assert steinbox.__file__.startswith('$home'), steinbox.__file__"

echo "3. The report in a browser, the tutorial, the notebooks"
run python "$repository/tests/stories/newcomer.py" "$repository" demo-output/report.html
echo "A newcomer gets through."
