"""The two-way join behind WindowJoin and join(): configuration, plan, engine, results, snapshots."""
