"""Which metric sees what? Every metric of frames against known changes of them, from faint to strong.

    found = metric_study(scenes=40)
    print(tables(found))

`samples` are what is looked at, `doses` what is done to it, `gauges` and `learned` what judges it, `finding` what came
of it, `telling` says it in words. Source of the first six perturbations: LoopNav, figure 3a.
"""

from worldgauge.tools.validate_metrics.format import conclusions, tables
from worldgauge.tools.validate_metrics.results import MetricStudy
from worldgauge.tools.validate_metrics.study import SCENES, metric_study

__all__ = ["SCENES", "MetricStudy", "conclusions", "metric_study", "tables"]
