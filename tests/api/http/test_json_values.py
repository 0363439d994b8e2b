"""What a request may carry inside values of any shape."""

from typing import Any

import pytest

from api.http.json_values import MAX_DEPTH, plain
from tests.api.service import Service


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_what_json_can_say_passes() -> None:
    value = {"a": [1, 2.5, None, True, "ä\U0001f600", {"b": []}], "deep": nested(MAX_DEPTH - 1)}
    assert plain(value) is value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        [float("inf")],
        {"a": {"\ud800": 1}},
        ["\udfff"],
        nested(MAX_DEPTH + 1),
        nested(100_000),
    ],
)
def test_the_rest_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"nested|JSON|surrogate"):
        plain(value)


BODIES = [
    '{"name": "a", "config": {"env": {"name": "connect_four", "options": {"x": NaN}}}}',
    '{"name": "a", "config": {"env": {"name": "connect_four"}, "description": "\\ud800"}}',
    '{"name": "a", "config": ' + '{"a":' * 900 + "1" + "}" * 900 + "}",
    '{"name": "a", "config": ' + '{"a":' * 90_000 + "1" + "}" * 90_000 + "}",
    '{"name": "a", "config": {"seed": 1' + "0" * 5000 + "}}",
    '{"name": "a", "config": []}',
    "[]",
    "null",
    '"\\u0000"',
]


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_no_body_is_a_fault_of_the_service(shared: Service, body: str) -> None:
    headers = {
        "authorization": f"Bearer {shared.token('admin')}",
        "content-type": "application/json",
    }
    answer = shared.client.post("/v1/populations", content=body, headers=headers)
    assert answer.status_code in (400, 422), answer.text
    assert shared.call("GET", "/v1/populations")["items"] == []
