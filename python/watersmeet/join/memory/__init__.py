"""A join's memory limit: what counts, what is given up when it does not fit, what that costs the answer."""
