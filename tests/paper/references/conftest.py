"""The scripts here run in environments of their own, with packages that the tests do without."""

collect_ignore = ["gpy_ep.py"]
