"""Episodes found in homes and at tables, and the files they are kept in."""
