"""What to shed, one policy per file: each turns a period's statistics into the plans of the next."""

from watersmeet.join.shedding.policies.auto import AutoPolicy
from watersmeet.join.shedding.policies.content import ContentPolicy
from watersmeet.join.shedding.policies.density import DensityPolicy
from watersmeet.join.shedding.policies.drop import DropPolicy
from watersmeet.join.shedding.policies.policy import Geometry, PolicyState, SheddingPolicy, Worth
from watersmeet.join.shedding.policies.published import PublishedPolicy

__all__ = [
    "AutoPolicy",
    "ContentPolicy",
    "DensityPolicy",
    "DropPolicy",
    "Geometry",
    "PolicyState",
    "PublishedPolicy",
    "SheddingPolicy",
    "Worth",
]
