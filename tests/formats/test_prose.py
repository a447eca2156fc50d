"""Prose and its place in files of all kinds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from difa.errors import InputError
from difa.formats.prose import parse_prose, read_prose


def shown(text, suffix):
    """Line, column and words of every paragraph; what is kept stands at its place."""
    prose = parse_prose(text, suffix)
    for paragraph in prose.paragraphs:
        there = text[paragraph.start : paragraph.start + len(paragraph.text)]
        assert all(kept in (" ", original) for kept, original in zip(paragraph.text, there, strict=True))
    return [(*prose.place(paragraph.start), " ".join(paragraph.text.split())) for paragraph in prose.paragraphs]


MARKDOWN = """---
title: front matter
---
# A *fine* heading

First line with `code` and **bold**
second [link text](target.md "title"), <https://a.example/x> and https://b.example/y.

```python
fenced = code
```

    indented code

> Quoted `a
> b` text.

- One item
- Many `Word`s, ![alt text](picture.png), <b>tags</b> and [reference][ref]

| head | other |
|------|-------|
| cell | `x` cell |

[ref]: https://c.example
<!-- a comment -->
"""


def test_markdown():
    assert shown(MARKDOWN, ".md") == [
        (4, 3, "A fine heading"),
        (6, 1, "First line with and bold second link text , and ."),
        (15, 3, "Quoted text."),
        (18, 3, "One item"),
        (19, 3, "Many , alt text , tags and reference"),
        (21, 3, "head"),
        (21, 10, "other"),
        (23, 3, "cell"),
        (23, 13, "cell"),
    ]


def test_the_same_words_in_a_link_and_behind_it_keep_their_places():
    text = "See [foo](foo) foo, [bar][r] and [bar](baz) bar.\n\n[r]: baz\n"
    prose = parse_prose(text, ".md")
    assert [paragraph.text for paragraph in prose.paragraphs] == ["See  foo       foo,  bar     and  bar       bar."]


REST = """Title
=====

.. note:: It begins here.
   :class: wide

   A note is prose.

.. code-block:: python

   code = 1

   more = 2

Text with ``literal``, :func:`role`, `link <https://a.example>`_ and *stress*. For example::

    literal block

* An item
* Another `name`

>>> doctest()

:param name: what it is

.. _target: https://b.example
"""


def test_directives_of_rest_begin_behind_a_version_or_a_class():
    text = ".. deprecated:: 1.2 Use the other one.\n\n.. container:: wide\n\n   It is prose.\n\n.. image:: picture.png\n"
    assert shown(text, ".rst") == [(1, 21, "Use the other one."), (5, 4, "It is prose.")]


def test_rest():
    assert shown(REST, ".rst") == [
        (1, 1, "Title"),
        (4, 11, "It begins here."),
        (7, 4, "A note is prose."),
        (15, 1, "Text with , , link and stress . For example::"),
        (19, 3, "An item"),
        (20, 3, "Another"),
        (24, 1, "what it is"),
    ]


PYTHON = '''#!/usr/bin/env python
"""Module ``doc``.

Example::

    left = out
"""

# A comment that
# goes on.
text = "no prose"  # é trailing snake_case


class Thing:  # noqa: N801
    r\'\'\'One line.\'\'\'

    def go(self, x="y"):
        # Inside.
        """No docstring, but like one."""
        return call("a")
'''


def test_python():
    assert shown(PYTHON, ".py") == [
        (2, 4, "Module ."),
        (4, 1, "Example::"),
        (9, 3, "A comment that goes on."),
        (11, 22, "é trailing"),
        (15, 9, "One line."),
        (18, 11, "Inside."),
        (19, 12, "No docstring, but like one."),
    ]


def test_plain_text_is_parted_by_blank_lines_and_items():
    assert shown("One\ntwo.\n \n1. Three\n2. Four `code`", ".txt") == [
        (1, 1, "One two."),
        (4, 4, "Three"),
        (5, 4, "Four `code`"),
    ]


def test_a_mark_at_the_start_and_windows_line_ends_move_nothing(tmp_path):
    path = tmp_path / "a.md"
    path.write_bytes("\ufeffOne.\r\n\r\n  two *three*\r\n".encode())
    prose = read_prose(path)
    assert [prose.place(paragraph.start) for paragraph in prose.paragraphs] == [(1, 1), (3, 3)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.md", b"\xff\xfe", "expected UTF-8 text, got something else at byte 0"),
        ("a.py", b"'''open", "expected Python, got something else"),
        ("a.py", b"if x:\n    a\n  b", "expected Python, got something else"),
        ("a.txt", b"a" * 2_000_001, "expected at most 2,000,000 characters"),
        ("a.txt", None, "cannot be read: No such file"),
    ],
)
def test_errors_name_the_file(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as raised:
        read_prose(tmp_path / name)
    assert str(raised.value).startswith(f"{tmp_path / name}: ")


@given(st.text(alphabet="ab `*_[](){}<>|#:.-=\\&;!\"'\n\t é", max_size=120), st.sampled_from([".md", ".rst", ".txt"]))
def test_whatever_is_kept_stands_at_its_place(text, suffix):
    shown(text, suffix)


@given(st.text(alphabet="ab `*_:.-=\\&>\n\t é#'", max_size=120))
def test_whatever_python_keeps_stands_at_its_place(text):
    shown(f"# {text.partition(chr(10))[0]}\n" + repr(text) + f'\nr"""a {text}. """\n', ".py")


@pytest.mark.parametrize(
    "unit", ["+", "a", "a_", "`", "``a ", "*", "[", "](", "<", " <", ":a", "|", ".", "www.", "&", "a.\n", "- "]
)
@pytest.mark.parametrize("suffix", [".md", ".rst", ".py"])
def test_long_runs_take_no_time(unit, suffix):
    """They would take hours if the time grew with more than the length."""
    text = unit * (20_000 // len(unit)) + "!x"
    shown(f'r"""{text}"""\n' if suffix == ".py" else text, suffix)
