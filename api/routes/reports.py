"""The report of a population, as a file."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from api.context import Here
from api.routes.bodies import PopulationName
from arena.report.page import page
from arena.report.read import read_report

router = APIRouter(prefix="/v1/populations/{name}", tags=["populations"])


@router.get("/report", operation_id="getReport", response_class=HTMLResponse)
def report(here: Here, name: PopulationName) -> HTMLResponse:
    """The report as `arena report` writes it: one HTML file that opens without a network.

    It is served as a file to keep, so that a browser shows it outside of the dashboard's origin.
    """
    facts = read_report(here.league, here.settings.data, name, here.assessor)
    keep = f'attachment; filename="{name}-report.html"'
    return HTMLResponse(page(facts), headers={"content-disposition": keep})
