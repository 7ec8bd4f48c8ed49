"""What the suite offers for training: walks to a target."""
