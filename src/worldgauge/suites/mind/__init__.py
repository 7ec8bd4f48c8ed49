"""Mind."""
