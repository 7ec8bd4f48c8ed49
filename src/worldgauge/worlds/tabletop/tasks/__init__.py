"""The tasks of the table, a file each."""
