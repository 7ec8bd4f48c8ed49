"""`chat`: a language model that is shown what was imagined, and decides."""

from __future__ import annotations

from typing import Any

from worldgauge.core.errors import UsageError
from worldgauge.suites.closedloop.policies.contract import PolicyKit, Reviser, revisers
from worldgauge.suites.closedloop.task import closed_loop_tasks, task_names


@revisers.register("chat", tasks=(), chat=True, imagines=True, declares=True)
def chat_reviser(kit: PolicyKit) -> Reviser[Any]:
    """A language model compares what was imagined; in recognition and questions it also gives the answer.

    Replies that cannot be read are asked for again; after that the decision falls back, and its notes record it under
    "fallback", "fallback_answer" or "stop_fallback". notes["asks"] lists each query: prompt, version and digest, reply,
    tokens, cost. An outage or a used-up budget is raised as it is and decides nothing.

    Options: kind, "select" (it names a candidate; the default) or "rewrite" (it may write a plan, as released);
    declared (navigation: it is first asked whether it has arrived); revision (manipulation: "frames", or "described",
    of longer plans than a clip has frames); tracker (recognition: "geometry" or "sam2"); landmarks (questions: "exact"
    or "detected"); temperature, top_p, max_tokens, asks; top_logprobs.

    Raises:
        UsageError: For another task.
    """
    own = closed_loop_tasks.get(kit.task).shared_revisers.get("chat")
    if own is None:
        able = (name for name in task_names() if closed_loop_tasks.get(name).shared_revisers.get("chat"))
        raise UsageError(f"no task '{kit.task}' for the reviser 'chat'; it knows {', '.join(able)}")
    return own(kit)
