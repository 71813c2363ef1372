"""Pure-Python models that the engine is tested against: slow, short, and straight from the definitions."""
