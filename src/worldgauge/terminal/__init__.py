"""What commands share: options, progress, tables, and exit codes."""
