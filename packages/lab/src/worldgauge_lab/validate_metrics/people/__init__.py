"""How far metrics agree with people: verdicts on pairs and on single videos, and votes held in the viewer."""
