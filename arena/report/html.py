"""HTML and SVG are written here, and text is escaped here, in one place. Pure."""

from collections.abc import Iterable, Sequence
from html import escape

OPEN_ROWS = 16


class Markup(str):
    """Text that is HTML already. Any other text is escaped where it becomes part of HTML."""

    __slots__ = ()


def tag(name: str, *content: object, **attributes: object) -> Markup:
    """An element.

    content     texts, elements, and lists of them; None stands for nothing
    attributes  `class_` is written as class, `stroke_width` as stroke-width; None leaves one out
    """
    written = "".join(
        f' {_attribute(key)}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{joined(content)}</{name}>")


def joined(content: Iterable[object]) -> Markup:
    """Content side by side."""
    return Markup("".join(_one(part) for part in content))


def table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str, class_: str = ""
) -> Markup:
    """A table that scrolls where the page is narrow. A head that begins with ">" is of numbers."""
    numbers = [head.startswith(">") for head in heads]
    cells = [
        tag("th", head.removeprefix(">"), scope="col", class_="number" if number else None)
        for head, number in zip(heads, numbers, strict=True)
    ]
    body = [
        tag("tr", [_cell(part, number) for part, number in zip(row, numbers, strict=True)])
        for row in rows
    ]
    whole = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", cells)),
        tag("tbody", body),
        class_=class_ or None,
    )
    return tag("div", whole, class_="wide", tabindex=0, role="region", aria_label=caption)


def long_table(
    heads: Sequence[str], rows: Sequence[Sequence[object]], *, caption: str, class_: str = ""
) -> Markup:
    """A table of which only the first rows stand open."""
    first = table(heads, rows[:OPEN_ROWS], caption=caption, class_=class_)
    rest = rows[OPEN_ROWS:]
    if not rest:
        return first
    title = f"{len(rest)} more"
    return joined([first, folded(title, table(heads, rest, caption=title, class_=class_))])


def folded(title: str, *content: object) -> Markup:
    """Content behind a title that opens it."""
    return tag("details", tag("summary", title), *content)


def _cell(part: object, number: bool) -> Markup:
    return tag("td", "" if part is None else part, class_="number" if number else None)


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _one(part: object) -> str:
    if part is None:
        return ""
    if isinstance(part, Markup):
        return part
    if isinstance(part, list | tuple):
        return joined(part)
    return escape(str(part))
