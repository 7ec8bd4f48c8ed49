"""What commands share: options, progress, tables, how they end."""
