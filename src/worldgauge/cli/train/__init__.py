"""`worldgauge train` and its subcommands."""
