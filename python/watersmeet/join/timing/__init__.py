"""Keeping time: idle streams, adaptive order, lateness learnt on line, response times."""
