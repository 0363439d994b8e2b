"""What tests ask of the page of a report."""

from html.parser import HTMLParser

VOID = {"meta"}
ASKING = ("href", "src", "srcset", "action", "data", "poster", "xlink:href")
"""Attributes by which a browser asks for something."""


class PageReader(HTMLParser):
    """Reads a page, and refuses elements that are not closed in their order.

    elements  names of all elements
    texts     between them, without the style
    asking    attributes by which something would be loaded
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.texts: list[str] = []
        self.asking: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.asking += [
            f"{tag} {name}"
            for name, value in attrs
            if name in ASKING or name.startswith("on") or "url(" in (value or "")
        ]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())
