"""Units and descriptions of quantities, by their names."""

from __future__ import annotations

from collections.abc import Mapping


def check_texts(argument: str, given: object) -> dict[str, str]:
    """What was given as ``units=`` or ``descriptions=``: texts by name, or nothing.

    Examples
    --------
    >>> check_texts("units", {"mass": "kg"}), check_texts("units", None)
    ({'mass': 'kg'}, {})
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(text, str) for pair in given.items() for text in pair):
        example = '{"mass": "kg"}' if argument == "units" else '{"mass": "of the star"}'
        raise TypeError(f"expected {argument} to be a dictionary of text by name, such as {example}, got {given!r}")
    return dict(given)


def label(name: str, units: Mapping[str, str]) -> str:
    """A name with its unit, for tables and plots.

    Examples
    --------
    >>> label("mass", {"mass": "kg"}), label("ratio", {"mass": "kg"})
    ('mass [kg]', 'ratio')
    """
    return f"{name} [{units[name]}]" if units.get(name) else name
