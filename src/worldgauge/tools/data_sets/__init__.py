"""Named sets on disk: make them anywhere to the same digests, check them, and move any data set to another place."""

from worldgauge.tools.data_sets.checking import SetCheck, check_set
from worldgauge.tools.data_sets.making import MadeSet, make_set, planned

__all__ = ["MadeSet", "SetCheck", "check_set", "make_set", "planned"]
