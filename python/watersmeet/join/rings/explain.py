"""How a ring join is run, and why, in words."""

from __future__ import annotations

from watersmeet.join.rings.config import RingConfig
from watersmeet.join.rings.engine import RingEngine
from watersmeet.join.rings.plan import is_native
from watersmeet.vocabulary import Comparisons, Compiled, Distance, Equal, Where
from watersmeet.vocabulary.predicate import Band

__all__ = ["explain_ring"]

_SHOWN_CELLS = 6


def explain_ring(engine: RingEngine) -> str:
    """Slices, the order in which rows probe, how partners are found, and what is shed; one fact a line."""
    config = engine.config
    lines = [
        f"join of {', '.join(config.names)} on {engine.slices} slices, topology {config.topology!r},"
        f" up to {config.interleave} rows under way at once",
        f"slices by {'measured load' if config.auto else 'hand'}"
        + (f", changed {engine.gauge.state.changes} times" if engine.gauge is not None else ""),
    ]
    lines += [_test(engine, at) for at in range(len(config.tests))]
    if config.whole is not None:
        lines.append(f"{config.whole}: asked in blocks, once a row of every stream is there")
    by = "given" if config.orderings is not None else "by measured selectivities"
    if config.orderings is None and config.shed is not None:
        by = "by predicates, for good: selectivities measured on some cells would mislead"
    for name, ordering in zip(config.names, engine.orderings.orderings, strict=True):
        lines.append(f"rows of {name} probe {', then '.join(config.names[at] for at in ordering)} ({by})")
    lines += _shedding(engine)
    return "\n".join(lines)


def _test(engine: RingEngine, at: int) -> str:
    config: RingConfig = engine.config
    test = config.tests[at]
    pair, leaf = f"{config.names[test.left]}, {config.names[test.right]}: {test.leaf}", test.leaf
    if isinstance(leaf, Where):
        return f"{pair}: a Python function, asked in blocks"
    if isinstance(leaf, Compiled):
        return f"{pair}: compiled code, called for every pair, without Python"
    if isinstance(leaf, Equal):
        return f"{pair}: looked up in a hash table"
    if isinstance(leaf, Band):
        return f"{pair}: compared one by one, in vectors"
    if not isinstance(leaf, Distance):
        return f"{pair}: looked up in inverted lists, by the rows that arrive; others compared one by one"
    schemas = [schema for schema in engine.schemas if schema is not None]
    if len(schemas) == len(config.streams) and not is_native(test, schemas):
        return f"{pair}: by NumPy, since the column's type does not say how long vectors are"
    return f"{pair}: native code, in tiles that stay in the cache"


def _shedding(engine: RingEngine) -> list[str]:
    shed, ready = engine.config.shed, engine.ready
    if shed is None:
        return ["nothing is shed"]
    budget = "the wall clock"
    if isinstance(shed.budget, Comparisons):
        budget = f"{shed.budget.per_second:,.6g} pairs per second of stream time"
    if ready is None or ready.shedding is None:
        return [f"sheds pairs to keep to {budget}, once all streams are known"]
    directions, recall = ready.shedding.statistics(ready.core)
    lines = [
        f"sheds pairs to keep to {budget} (policy {ready.shedding.policy_name}); share of the answer {recall}"
    ]
    for each in directions:
        cells = ", ".join(map(str, each.order[:_SHOWN_CELLS]))
        made = each.compared / each.due if each.due else 1.0
        lines.append(
            f"rows of {each.own} in the window of {each.other}: {each.fraction:.1%} of it now, cells {cells}"
            f"{', ...' if len(each.order) > _SHOWN_CELLS else ''} first (0 is the newest), of what is left"
            f" out {each.sample_share:.2%} by chance;"
            f" so far {each.compared:,} of {each.due:,} pairs ({made:.1%})"
        )
    return lines
