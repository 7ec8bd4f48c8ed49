"""The commands of worldgauge-lab. `worldgauge` finds them by their entry point."""

from worldgauge.terminal.commands import Command
from worldgauge_lab.cli import closedloop
from worldgauge_lab.cli.calibrate import calibrate
from worldgauge_lab.cli.validate_metrics import validate_metric

COMMANDS = (
    Command(calibrate, "Models and data", "worldgauge calibrate --model render --out calibration"),
    Command(validate_metric, "Tools", "worldgauge validate-metric all --out metrics.html", name="validate-metric"),
    *closedloop.COMMANDS,
)
