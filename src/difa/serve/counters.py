"""Counters for Prometheus: requests and their latency, queue, batches, words. Never any text, and no paths but our own."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64)
_WORDS = (8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384, 65536)


class Counters:
    """The counters of one service, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        lane = ["model", "lane"]
        odd = "Words in a batch; a long or odd one counts as several."
        self.requests = Counter("difa_requests", "Requests answered.", ["route", "status"], registry=registry)
        self.seconds = Histogram("difa_request_seconds", "Time to answer.", ["route"], buckets=_SECONDS, registry=registry)
        self.queue = Gauge("difa_queue_length", "Documents that wait for a batch.", lane, registry=registry)
        self.documents = Histogram("difa_batch_documents", "Documents in a batch.", lane, buckets=_SIZES, registry=registry)
        self.batch_words = Histogram("difa_batch_words", odd, lane, buckets=_WORDS, registry=registry)
        self.batch_seconds = Histogram("difa_batch_seconds", "Time that a batch took.", lane, buckets=_SECONDS, registry=registry)
        self.words = Counter("difa_words_scored", "Words scored.", ["model"], registry=registry)

    def watch_queue(self, model: str, lane: str, length: Callable[[], int]) -> None:
        """Report a queue's length whenever the counters are read."""
        self.queue.labels(model, lane).set_function(length)

    def observe_batch(self, model: str, lane: str, documents: int, words: int, seconds: float) -> None:
        """Count a batch."""
        self.documents.labels(model, lane).observe(documents)
        self.batch_words.labels(model, lane).observe(words)
        self.batch_seconds.labels(model, lane).observe(seconds)

    def observe_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)
