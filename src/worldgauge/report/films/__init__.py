"""Films, maps and stills of a report's tasks."""
