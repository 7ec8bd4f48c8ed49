"""A study of what metrics respond to: every metric of frames on known changes, from faint to strong.

    found = metric_study(scenes=40)
    print(tables(found))

`samples` holds the frames, `perturbations` the changes by severity, `metric_adapters` and `learned` the metrics,
`study` runs them, `results` holds the results, `format` and `page` print them.

`published_curves` is another study on the same perturbations and scenes: LoopNav's figure 3a, at the paper's own
severities and with bounds that SGCS must keep. The metric study covers every metric, over a range of severities.
"""

from worldgauge.tools.validate_metrics.format import conclusions, tables
from worldgauge.tools.validate_metrics.results import MetricStudy
from worldgauge.tools.validate_metrics.study import SCENES, metric_study

__all__ = ["SCENES", "MetricStudy", "conclusions", "metric_study", "tables"]
