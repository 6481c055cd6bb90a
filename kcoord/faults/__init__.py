"""Faults on purpose: rules by which a server answers wrongly, late, or not at all, where a test wants it so."""

from kcoord.faults.faults import Applied, Fault, Faults
from kcoord.faults.rule import BadFault, FaultRule

__all__ = ["Applied", "BadFault", "Fault", "FaultRule", "Faults"]
