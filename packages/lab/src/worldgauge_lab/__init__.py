"""Studies of metrics, models and agents, the training of the small networks of agents, and rare export forms."""
