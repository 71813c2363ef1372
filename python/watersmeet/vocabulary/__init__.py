"""The frozen values that every room speaks in: spans, predicates, streams, shedding, order, statistics."""

from __future__ import annotations

from watersmeet.vocabulary.compiled import Compiled
from watersmeet.vocabulary.duration import Span, SpanLike, TimeUnit, parse_span
from watersmeet.vocabulary.memory import parse_bytes
from watersmeet.vocabulary.order import AdaptiveOrder, Order, parse_order
from watersmeet.vocabulary.predicate import (
    And,
    Band,
    Cosine,
    Distance,
    Dot,
    Equal,
    Jaccard,
    Overlap,
    Predicate,
    SameSet,
    Subset,
    Superset,
    Where,
)
from watersmeet.vocabulary.predicate_functions import (
    band,
    cosine,
    distance,
    dot,
    equal,
    jaccard,
    overlap,
    same_set,
    subset,
    superset,
    where,
)
from watersmeet.vocabulary.shed import Budget, Comparisons, PerBatch, Shed, comparisons, per_batch
from watersmeet.vocabulary.statistics import DirectionStatistics, Estimate, Metrics, StreamStatistics
from watersmeet.vocabulary.stream import Lateness, Stream
from watersmeet.vocabulary.waiting import ChoiceMade, ResponseTimes, why_waiting

__all__ = [
    "AdaptiveOrder",
    "And",
    "Band",
    "Budget",
    "ChoiceMade",
    "Comparisons",
    "Compiled",
    "Cosine",
    "DirectionStatistics",
    "Distance",
    "Dot",
    "Equal",
    "Estimate",
    "Jaccard",
    "Lateness",
    "Metrics",
    "Order",
    "Overlap",
    "PerBatch",
    "Predicate",
    "ResponseTimes",
    "SameSet",
    "Shed",
    "Span",
    "SpanLike",
    "Stream",
    "StreamStatistics",
    "Subset",
    "Superset",
    "TimeUnit",
    "Where",
    "band",
    "comparisons",
    "cosine",
    "distance",
    "dot",
    "equal",
    "jaccard",
    "overlap",
    "parse_bytes",
    "parse_order",
    "parse_span",
    "per_batch",
    "same_set",
    "subset",
    "superset",
    "where",
    "why_waiting",
]
