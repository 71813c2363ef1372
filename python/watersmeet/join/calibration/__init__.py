"""Measuring this machine's unit costs with the core, and keeping them."""
