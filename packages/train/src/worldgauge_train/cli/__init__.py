"""The commands of worldgauge-train. `worldgauge` finds them by their entry point."""

from worldgauge.terminal.commands import Command
from worldgauge_train.cli import study
from worldgauge_train.cli.app import app
from worldgauge_train.cli.export_data import export_data
from worldgauge_train.cli.post import EXAMPLE, post_train

COMMANDS = (
    Command(app, "Models and data", "", name="train"),
    Command(post_train, "Models and data", EXAMPLE, name="post-train"),
    Command(
        export_data, "Publish", "worldgauge export-data --data data --from loopnav --out walks", name="export-data"
    ),
    *study.COMMANDS,
)
