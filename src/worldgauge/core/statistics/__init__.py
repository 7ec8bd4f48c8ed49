"""Statistics of scores: means with intervals, paired tests, ranks, and the smallest difference that could be seen.

Everywhere None is a missing value, left out and never zero. NaN is refused. Results do not depend on the order of the
values. One value is one task: frames of a video are not independent, so average them first. Tasks that share a place
are not independent either: they are a cluster, and clusters are what is resampled.
"""

from worldgauge.core.statistics.correlation import Correlation, correlation
from worldgauge.core.statistics.means import (
    FEWEST_RESAMPLED,
    LEVEL,
    RESAMPLES,
    MeanStd,
    balanced_interval,
    bootstrap_interval,
    interval_method,
    interval_of_sample,
    jackknife_interval,
    mean_std,
    method_of_sample,
)
from worldgauge.core.statistics.paired import (
    PairedDifference,
    PairedMeans,
    RankRange,
    holm,
    paired_difference,
    paired_means,
    rank_ranges,
    ranks,
    ranks_with_ties,
    resolvable_differences,
    smallest_resolvable_difference,
)
from worldgauge.core.statistics.rates import rate_interval, wilson
from worldgauge.core.statistics.sample import Interval, Sample, StandardError

__all__ = [
    "FEWEST_RESAMPLED",
    "LEVEL",
    "RESAMPLES",
    "Correlation",
    "Interval",
    "MeanStd",
    "PairedDifference",
    "PairedMeans",
    "RankRange",
    "Sample",
    "StandardError",
    "balanced_interval",
    "bootstrap_interval",
    "correlation",
    "holm",
    "interval_method",
    "interval_of_sample",
    "jackknife_interval",
    "mean_std",
    "method_of_sample",
    "paired_difference",
    "paired_means",
    "rank_ranges",
    "ranks",
    "ranks_with_ties",
    "rate_interval",
    "resolvable_differences",
    "smallest_resolvable_difference",
    "wilson",
]
