"""A study of what metrics respond to: every metric of frames on known changes, from faint to strong.

    found = metric_study(scenes=40)
    print(tables(found))

`samples` holds the frames, `perturbations` the changes, `metric_adapters` the metrics. `perturbation_study` runs them,
`results` holds their strengths and the results, `page` prints them.

`published_figure` is one case of the study: LoopNav's figure 3a, at the paper's own strengths and with bounds that SGCS
must keep.
"""

from worldgauge_lab.validate_metrics.page import STUDY_COLUMNS, conclusions, study_rows, tables
from worldgauge_lab.validate_metrics.perturbation_study import SCENES, metric_study
from worldgauge_lab.validate_metrics.results import MetricStudy

__all__ = ["SCENES", "STUDY_COLUMNS", "MetricStudy", "conclusions", "metric_study", "study_rows", "tables"]
