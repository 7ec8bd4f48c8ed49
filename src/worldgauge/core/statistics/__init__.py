"""Statistics of scores: means with intervals, paired tests, ranks, and the minimum detectable effect.

None is a missing value everywhere: it is left out and never zero. NaN is refused. Results do not depend on the order of
the values. One value is one task: frames of a video are not independent, so average them first. Tasks that share a
place are not independent either: they form a cluster.
"""

from worldgauge.core.statistics.correlation import Correlation, correlation
from worldgauge.core.statistics.means import (
    MeanStd,
    balanced_interval,
    jackknife_interval,
    mean_interval,
    mean_std,
    student_interval,
)
from worldgauge.core.statistics.paired import (
    FEWEST_CLUSTERS,
    PairedDifference,
    PairedDifferences,
    RankRange,
    holm,
    minimum_detectable_effect,
    paired_difference,
    paired_differences,
    rank_ranges,
    ranks,
)
from worldgauge.core.statistics.power import Power, power_of
from worldgauge.core.statistics.rates import rate_interval, wilson
from worldgauge.core.statistics.sample import FEWEST_DIFFERENT, LEVEL, Estimate, Interval, Sample, estimate_all

__all__ = [
    "FEWEST_CLUSTERS",
    "FEWEST_DIFFERENT",
    "LEVEL",
    "Correlation",
    "Estimate",
    "Interval",
    "MeanStd",
    "PairedDifference",
    "PairedDifferences",
    "Power",
    "RankRange",
    "Sample",
    "balanced_interval",
    "correlation",
    "estimate_all",
    "holm",
    "jackknife_interval",
    "mean_interval",
    "mean_std",
    "minimum_detectable_effect",
    "paired_difference",
    "paired_differences",
    "power_of",
    "rank_ranges",
    "ranks",
    "rate_interval",
    "student_interval",
    "wilson",
]
