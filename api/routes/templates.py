"""Templates: the configs that come with the package, with which a new population may begin."""

import tomllib

from fastapi import APIRouter
from pydantic import BaseModel

from api.open_values import ConfigTable
from pbt.config.load import shipped_configs

router = APIRouter(prefix="/v1/templates", tags=["populations"])


class TemplateBody(BaseModel):
    """A template.

    name         of the config
    description  of the config
    config       as a table of tables, ready for `POST /v1/populations`
    """

    name: str
    description: str
    config: ConfigTable


class TemplateList(BaseModel):
    """All templates.

    items  ordered by name
    """

    items: list[TemplateBody]


@router.get("", operation_id="listTemplates", response_model=TemplateList)
def list_templates() -> TemplateList:
    """Ordered by name."""
    tables = [
        (name, tomllib.loads(path.read_text(encoding="utf-8")))
        for name, path in shipped_configs().items()
    ]
    return TemplateList(
        items=[
            TemplateBody(name=name, description=table.get("description", ""), config=table)
            for name, table in tables
        ]
    )
