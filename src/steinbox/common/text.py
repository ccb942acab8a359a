"""Text of others, made safe to show: whatever it holds, a terminal, a page or a file sees only what can be read."""

from __future__ import annotations

import re
from typing import Any

# all control characters but tabs and ends of lines; marks that turn the direction of writing; halves of characters
_NOT_SHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: object) -> str:
    r"""Text in which no character does anything but show: those that would are spelled out.

    Examples
    --------
    >>> plain("red\x1b[31m"), plain("turned\u202e")
    ('red\\x1b[31m', 'turned\\u202e')
    """
    return _NOT_SHOWN.sub(_spell_out, str(text).replace("\r\n", "\n"))


def plain_tree(tree: Any) -> Any:
    """What JSON holds, with all its text plain."""
    if isinstance(tree, str):
        return plain(tree)
    if isinstance(tree, list):
        return [plain_tree(item) for item in tree]
    if isinstance(tree, dict):
        return {plain_tree(key): plain_tree(item) for key, item in tree.items()}
    return tree


def _spell_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
