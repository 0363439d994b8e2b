"""The assessment of a population: is it learning, which member is best, is anything broken."""

from fastapi import APIRouter
from starlette.responses import Response

from api.context import Here
from api.routes.assessment_bodies import AssessmentBody, assessment_body
from api.routes.bodies import PopulationName
from api.routes.etags import KNOWN, IfNoneMatch, tagged_by_content

router = APIRouter(prefix="/v1/populations/{name}", tags=["populations"])


@router.get(
    "/assessment", operation_id="getAssessment", response_model=AssessmentBody, responses=KNOWN
)
def assessment(here: Here, name: PopulationName, if_none_match: IfNoneMatch = None) -> Response:
    """What may be said of a population: whether it learns, which member is best, what PBT did.

    `sentence` is the same in the terminal and in reports. While games come in, ratings may be some
    seconds old.
    """
    return tagged_by_content(if_none_match, assessment_body(here.assessor.assess(name)))
