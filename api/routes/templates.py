"""The configs that come with the package: what a new population may begin with."""

import tomllib
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from pbt.config.load import shipped_configs

router = APIRouter(prefix="/v1/templates", tags=["populations"])


class TemplateBody(BaseModel):
    """config: the file as a table of tables, ready for `POST /v1/populations`"""

    name: str
    description: str
    config: dict[str, Any]


class TemplateList(BaseModel):
    items: list[TemplateBody]


@router.get("", operation_id="listTemplates", response_model=TemplateList)
def list_templates() -> TemplateList:
    """By name."""
    found = [
        (name, tomllib.loads(path.read_text(encoding="utf-8")))
        for name, path in shipped_configs().items()
    ]
    return TemplateList(
        items=[
            TemplateBody(name=name, description=table.get("description", ""), config=table)
            for name, table in found
        ]
    )
