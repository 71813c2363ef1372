"""The joins on slices behind RingJoin."""
