"""Samples as the text format of Prometheus, by prometheus_client (extra ``metrics``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pravega_lab.errors import require

from .samples import Kind, Metric


def render(metrics: Sequence[Metric]) -> tuple[str, bytes]:
    """Return content type and body of ``/metrics``.

    Raises:
        MissingExtraError: prometheus_client is not installed.
    """
    require("prometheus_client")
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
    from prometheus_client.exposition import CONTENT_TYPE_LATEST

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(metrics))
    ProcessCollector(registry=registry)
    return CONTENT_TYPE_LATEST, generate_latest(registry)


class _Collected:
    """Implements the collector interface of prometheus_client on metrics that are collected already."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Any]:
        """Yield a family for each metric."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        families = {Kind.COUNTER: CounterMetricFamily, Kind.GAUGE: GaugeMetricFamily}
        for metric in self._metrics:
            family = families[metric.kind](metric.name, metric.help, labels=metric.labels)
            for labels, value in metric.values.items():
                family.add_metric(labels, value)
            yield family
