"""The tree of joins behind MultiJoin."""
