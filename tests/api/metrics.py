"""The metrics of a service as Prometheus reads them."""

from collections.abc import Mapping

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.api.service import Service

Labels = Mapping[str, str]


def families(service: Service) -> dict[str, Metric]:
    """Name -> what /metrics prints of it. Prometheus' own parser reads the text."""
    answer = service.client.get(
        "/metrics", headers={"authorization": f"Bearer {service.token('viewer')}"}
    )
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {family.name: family for family in text_string_to_metric_families(answer.text)}


def value(found: Mapping[str, Metric], sample: str, **labels: str) -> float | None:
    """The value of the one series with these labels, None without one."""
    values = [
        one.value
        for family in found.values()
        for one in family.samples
        if one.name == sample and labels.items() <= one.labels.items()
    ]
    assert len(values) < 2, f"{sample} has {len(values)} series with {labels}"
    return values[0] if values else None


def of_population(found: Mapping[str, Metric], name: str) -> set[str]:
    """The names of all series of a population."""
    return {
        one.name
        for family in found.values()
        for one in family.samples
        if one.labels.get("population") == name
    }
