"""Values that routes pass on as they are, with the schemas that the OpenAPI document shows of them.

A whole config, the options of a game and the events of the stream are plain JSON to the routes. A
mark in the schema names the model that says what they hold.
"""

from typing import Annotated, Any

from pydantic import RootModel, WithJsonSchema

from api.field_texts import models_by_name

MARK = "x-model"
"""The key of a schema that stands for the schema of the model that it names."""
REFERENCE = "#/components/schemas/{model}"


class Plain(RootModel[bool | int | float | str | None]):
    """A number, a text, a truth value, or null."""


class OptionLeaf(RootModel[Plain | list[Plain] | dict[str, Plain]]):
    """A part of an `OptionPart`."""


class OptionPart(RootModel[Plain | list[OptionLeaf] | dict[str, OptionLeaf]]):
    """A part of an `OptionValue`."""


class OptionValue(RootModel[Plain | list[OptionPart] | dict[str, OptionPart]]):
    """A value that JSON has, such as an option of a game.

    At most three levels of lists and tables stand within each other: a config takes no more,
    and generators of clients know no type within itself.
    """


AnyValue = Annotated[Any, WithJsonSchema({MARK: "OptionValue"})]
ConfigTable = Annotated[dict[str, Any], WithJsonSchema({MARK: "RunConfig"})]
"""A config as a table of tables; what it leaves out has its default."""


def put_models(document: dict[str, Any]) -> None:
    """Put references in place of marks, and what they refer to into the components.

    A table of which the model says nothing more has an `OptionValue` under every key.
    """
    schemas, models = document["components"]["schemas"], models_by_name()
    waiting: list[Any] = [document]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            if part.get("additionalProperties") is True:
                part["additionalProperties"] = {MARK: OptionValue.__name__}
            if MARK in part:
                name = part.pop(MARK)
                if name not in schemas:
                    made = models[name].model_json_schema(ref_template=REFERENCE)
                    below = made.pop("$defs", {})
                    schemas |= {name: made, **below}
                    waiting += [made, *below.values()]
                part["$ref"] = REFERENCE.format(model=name)
            waiting += list(part.values())
