"""`python faulty_service.py DATA FORMAT`: a service whose routes break when they hold secrets.

It is called with every kind of secret. It logs to standard error and prints the secrets.
"""

import json
import sys
from pathlib import Path
from typing import Any

from api.http.observability import log_to_stderr
from api.http.tokens import COOKIE, Tokens
from api.routes import populations
from arena.data.service_tokens import create_token
from tests.api.service import serving


def broken(*given: Any, **named: Any) -> Any:
    """A frame that knows what it was called with."""
    raise RuntimeError("the tower fell")


def main() -> None:
    log_to_stderr(sys.argv[2])
    with serving(Path(sys.argv[1])) as service:
        tokens = service.app.state.context.tokens
        admin = tokens.named("admin")
        code, (cookie, _) = tokens.new_code(admin, "viewer"), tokens.new_session(admin)
        named = create_token(service.data / "service", "ada", "admin", None)
        Tokens.redeem = broken  # type: ignore[method-assign]
        populations.list_supervised = broken
        shown = [
            {"authorization": f"Bearer {service.token(level)}"} for level in ("viewer", "admin")
        ] + [{"cookie": f"{COOKIE}={cookie}"}, {"authorization": f"Bearer {named}"}]
        answers = [service.client.get("/v1/populations", headers=headers) for headers in shown]
        answers.append(service.client.post("/v1/session", json={"code": code}))
        Tokens.new_session = broken  # type: ignore[method-assign]
        answers.append(service.client.post("/v1/session", json={"token": named}))
        key = (service.data / "service/cookie.key").read_text().strip()
        secrets = [service.token("viewer"), service.token("admin"), cookie, code, key, named]
        print(
            json.dumps(
                {
                    "secrets": secrets,
                    "answers": [
                        (answer.status_code, answer.json()["request_id"]) for answer in answers
                    ],
                }
            )
        )


if __name__ == "__main__":
    main()
