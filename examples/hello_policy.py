"""A policy in one file: it proposes plans for the navigation task of `worldinworld`.

    python examples/hello_policy.py

`--set proposer=turn-and-walk` finds it when a package names this class in its entry points:

    [project.entry-points."worldgauge.proposers"]
    turn-and-walk = "hello_policy:TurnAndWalk"
"""

import numpy as np

from worldgauge.model import ActionPlan, PolicyKit, from_letters, proposers


@proposers.register("turn-and-walk", tasks=("navigation",), chat=False)
class TurnAndWalk:
    """Turns by up to 90 degrees to either side, then walks."""

    def __init__(self, kit: PolicyKit) -> None:
        self.length = kit.length  # steps of a plan

    def propose(self, observation, goal, history, n, rng) -> list[ActionPlan]:
        """Up to n plans of L (turn left), R (turn right) and F (forward). Use only `rng` for randomness."""
        plans = []
        for turns in rng.integers(-4, 5, n):
            word = ("L" if turns > 0 else "R") * abs(turns) + "F" * self.length
            plans.append(ActionPlan(from_letters(word[: self.length]), "turn-and-walk"))
        return plans


if __name__ == "__main__":
    policy = TurnAndWalk(PolicyKit("navigation", length=8))
    for plan in policy.propose(None, None, (), 5, np.random.default_rng(0)):
        print(" ".join(step.name.lower() for step in plan.steps))
