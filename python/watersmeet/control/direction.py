"""Which window deserves the budget: [Gedik] V-B, Algorithm 4 (rebuilt in SPEC G1, since its text is lost)."""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.control._check import above, share

__all__ = ["split_between_windows"]


def split_between_windows(
    fraction: float, windows_s: tuple[float, float], densities: tuple[Sequence[float], Sequence[float]]
) -> tuple[float, float]:
    """The fraction of each window, such that the comparisons per second stay what `fraction` of both would
    cost.

    The window with the larger mean density gets all it can take, the other one the rest. The constraint is
    r (w_1 + w_2) = r_1 w_1 + r_2 w_2; rates cancel out. Follows Algorithm 4, not the prose of V-B, which
    names the wrong window (SPEC G2).
    """
    share(fraction, argument="fraction")
    for window_s in windows_s:
        above(window_s, 0.0, argument="windows_s")
    means = [sum(cells) / len(cells) for cells in densities]
    better = 0 if means[0] >= means[1] else 1
    allowance = fraction * (windows_s[0] + windows_s[1])
    most = min(1.0, allowance / windows_s[better])
    rest = max(0.0, allowance - most * windows_s[better]) / windows_s[1 - better]
    return (most, min(1.0, rest)) if better == 0 else (min(1.0, rest), most)
