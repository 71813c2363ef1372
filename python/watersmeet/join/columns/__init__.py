"""Columns on their way in and out: users' tables, types that meet, the core's terms, payload by row."""
