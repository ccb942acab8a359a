"""The page: what it is given is shown, never interpreted, and it loads nothing."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from browser import EVIL

from steinbox.common.text import plain
from steinbox.report import Cloud, Content, Curve, Fault, Finding, Level, Table, Verdict, Way, render
from steinbox.report.numbers import to_json


def make_content(text="a", values=(1.0, 2.0)):
    points = np.array(values)[:, None]
    ends = np.array([0.0]), np.array([3.0])
    return Content(
        title=text,
        subtitle=text,
        verdict=Verdict(text, (Finding(Level.CAUTION, text), Finding(Level.NOTE, text)), (text,)),
        facts=[(text, text)],
        summary=Table([text], [[text]], [text]),
        cloud=Cloud([text], points, points, np.full(2, 0.5), np.array(values), *ends),
        way=Way(text, np.array([1, 2]), np.zeros(2, np.int64), np.array([1, 2]), points, np.array(values), *ends),
        curves=[Curve(text, np.array(values))],
        diagnostics=[text],
        faults=[Fault(text, 1234, text, text, text)],
        config=[(text, text)],
        code=text,
    )


class Elements(HTMLParser):
    """The tags of a page with their attributes, and the content of each kind of script."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.inline, self._inside = [], {}, None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside = (tag, dict(attributes).get("type")) if tag in ("script", "style") else None

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside:
            self.inline[self._inside] = self.inline.get(self._inside, "") + data


def data_of(page):
    return json.loads(Elements(page).inline["script", "application/json"])


def test_text_of_others_adds_no_element_and_no_control_character():
    harmless, evil = Elements(render(make_content())), Elements(render(make_content(EVIL)))
    assert [tag for tag, _ in evil.tags] == [tag for tag, _ in harmless.tags]
    page = render(make_content(EVIL))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)
    assert "49" not in Elements(page).inline["script", "application/json"]
    assert data_of(page)["cloud"]["labels"] == [plain(EVIL)]


def test_the_policy_allows_its_own_script_and_style_and_nothing_else():
    page = Elements(render(make_content(EVIL)))
    policy = next(each["content"] for tag, each in page.tags if each.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules.pop("default-src") == rules.pop("base-uri") == rules.pop("form-action") == "'none'"
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.inline[kind, None].encode()).digest()).decode()
        assert rules.pop(f"{kind}-src") == f"'sha256-{digest}'"
    assert rules == {}


def test_nothing_is_loaded_or_linked_outside():
    page = Elements(render(make_content()))
    for _tag, attributes in page.tags:
        assert not {"src", "srcset", "action", "style", "onload", "onclick"} & set(attributes)
        assert attributes.get("href", "#").startswith("#")
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|innerHTML|\beval\(", render(make_content()))


def test_numbers_are_few_digits_and_missing_ones_are_null():
    cloud = data_of(render(make_content(values=(np.nan, 1 / 3))))["cloud"]
    assert cloud["draws"] == [[None, 0.33333]]
    assert cloud["log_prob"] == [None, 0.33333]
    assert to_json(np.array([-np.inf, 123456.7, 1e-320])) == [None, 123460.0, 1e-320]


def test_words_stand_on_the_page_without_any_script():
    page = render(make_content("some words")).partition("<script")[0]
    assert page.count("some words") > 15
    assert "1,234 × some words" in page
    assert "is-caution" in page


def test_a_level_is_the_worst_but_a_note_is_none():
    notes = (Finding(Level.GOOD, ""), Finding(Level.NOTE, ""))
    assert Verdict("", notes, ()).level is Level.GOOD
    assert Verdict("", (*notes, Finding(Level.BAD, ""), Finding(Level.CAUTION, "")), ()).level is Level.BAD


@pytest.mark.parametrize(
    ("text", "shown"), [("a\r\nb\tc", "a\nb\tc"), ("\x00\x9b", r"\x00\x9b"), ("\ud800", r"\ud800")]
)
def test_control_characters_are_spelled_out(text, shown):
    assert plain(text) == shown
