"""Train world models on recorded walks, study what training brings, and write walks in other forms."""
