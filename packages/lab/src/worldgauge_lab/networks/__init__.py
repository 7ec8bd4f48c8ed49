"""How the small networks of agents in the closed loop are trained."""
