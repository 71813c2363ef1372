"""[PSP] 8.1 as values: nodes on Gigabit links, images of three sizes, 50 rows/s per stream, windows of 10 s.

The paper states no unit costs. Comparing a pixel costs what was measured of a user's function of NumPy's
through wm.where, kept with its source in costs.json; engine.py --save puts there what wm.cost.calibrate()
measures. Bytes follow from the images (3 per pixel) and from the network's name; the hop and the handling
of a message are of the order of such a network in 2009, since there is none here to measure. Everything
else in the figures follows.

Reported apart (`fitted`): the cost of a pixel with which the turn that the paper reports for selectivity 0.5,
14 nodes, is where the links are busy as long as the nodes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from watersmeet.ring import RingLoad, UnitCosts

__all__ = ["COSTS", "NODES", "PIXELS", "SELECTIVITIES", "cluster", "free_hops", "image_load"]

PIXELS = {"small": 5_000, "middle": 10_000, "large": 20_000}
SELECTIVITIES = (0.05, 0.1, 0.5)
NODES = range(4, 20)
COSTS = Path(__file__).with_name("costs.json")
PixelCost: TypeAlias = Literal["function", "distance", "fitted"]
_FITTED_PIXEL_S = 1.06e-9
_BYTES = 3  # of a pixel
_GIGABIT = 125e6
_RATE_PER_S, _WINDOW_S = 50.0, 10.0


def cluster(image: str = "small", *, pixel: PixelCost = "function") -> UnitCosts:
    """Unit costs for images of one size, compared by a user's function, by wm.distance, or as was fitted."""
    return UnitCosts(PIXELS[image] * _pixel_s(pixel), send_s=5e-5, hop_s=1e-4, link_bytes_per_s=_GIGABIT)


@cache
def _pixel_s(pixel: PixelCost) -> float:
    if pixel == "fitted":
        return _FITTED_PIXEL_S
    measured: float = json.loads(COSTS.read_text())["slices"][f"{pixel}_byte"]
    return _BYTES * measured * 1e-9


def free_hops(image: str = "small") -> UnitCosts:
    """The same without latency and handling of messages: only work and the links' occupancy are left."""
    return replace(cluster(image), send_s=0.0, hop_s=0.0)


def image_load(
    selectivity: float, *, ways: int = 3, image: str = "small", rate: float = _RATE_PER_S
) -> RingLoad:
    """Streams of images."""
    return RingLoad.of(
        (rate,) * ways, _WINDOW_S, selectivity=selectivity, row_bytes=float(_BYTES * PIXELS[image])
    )
