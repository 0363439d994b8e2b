"""The descriptions of fields in the OpenAPI document, taken from the docstrings of the models.

A docstring has a table of its fields: a name, two spaces or more, and what the field is; several
names may share a line. The table becomes the fields' descriptions, the rest stays the schema's.
"""

import re
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from typing import Any

from pydantic import BaseModel

PACKAGES = ("api", "arena", "pbt")
_ROW = re.compile(r"^(?P<names>[a-z_]\w*(?:, [a-z_]\w*)*) {2,}(?P<text>\S.*)$")


def describe_fields(schemas: Mapping[str, dict[str, Any]]) -> None:
    """Give every property that has no description the one of its model's docstring.

    schemas  of the document's components, by the names of their models
    """
    models = models_by_name()
    for name, schema in schemas.items():
        properties = schema.get("properties", {})
        model = models.get(name) or models.get(f"{name}Body")
        texts = {} if model is None else field_texts(model)
        for field, described in properties.items():
            if field in texts:
                described.setdefault("description", texts[field])
        if "description" in schema:
            schema["description"], _ = split(schema["description"], properties)


def field_texts(model: type[BaseModel]) -> dict[str, str]:
    """Field -> its description in the docstring of the model, or of one that it derives from."""
    texts: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, BaseModel) and each.__doc__:
            # From Python 3.13 on, docstrings are dedented already.
            texts |= split(cleandoc(each.__doc__), each.model_fields)[1]
    return texts


def split(text: str, fields: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """(the text without its table of fields, field -> what the table says of it)."""
    prose: list[str] = []
    table: list[tuple[list[str], list[str]]] = []
    inside = False
    for line in text.splitlines():
        row = _ROW.match(line)
        names = row["names"].split(", ") if row is not None else []
        if row is not None and all(name in fields for name in names):
            table.append((names, [row["text"]]))
            inside = True
        elif inside and line.startswith("  "):
            table[-1][1].append(line.strip())
        else:
            inside = False
            prose.append(line)
    shown = re.sub(r"\n{3,}", "\n\n", "\n".join(prose)).strip()
    return shown, {name: " ".join(words) for names, words in table for name in names}


def models_by_name() -> dict[str, type[BaseModel]]:
    """All models of this program. No two of its classes share a name."""
    return {model.__name__: model for model in _models(BaseModel)}


def _models(of: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in of.__subclasses__():
        if model.__module__.partition(".")[0] in PACKAGES:
            yield model
        yield from _models(model)
