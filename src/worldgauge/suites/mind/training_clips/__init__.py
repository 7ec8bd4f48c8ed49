"""What the suite offers for training: its recorded clips, and walks that are drawn."""
