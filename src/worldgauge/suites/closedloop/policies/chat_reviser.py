"""`chat`: a language model that is shown what was imagined, and decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from worldgauge.core.errors import UsageError
from worldgauge.suites.closedloop.manipulation.chat_reviser import ManipulationReviser
from worldgauge.suites.closedloop.navigation.chat_reviser import NavigationReviser
from worldgauge.suites.closedloop.policies.contract import PolicyKit, Reviser, revisers
from worldgauge.suites.closedloop.questions.chat_reviser import QuestionReviser
from worldgauge.suites.closedloop.recognition.chat_reviser import RecognitionReviser

TASKS = ("recognition", "navigation", "questions", "manipulation")


@revisers.register("chat", tasks=TASKS, chat=True, imagines=True, declares=True)
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
    made: dict[str, Callable[[PolicyKit], Reviser[Any]]] = {
        "recognition": RecognitionReviser,
        "navigation": NavigationReviser,
        "questions": QuestionReviser,
        "manipulation": ManipulationReviser,
    }
    if kit.task not in made:
        raise UsageError(f"no task '{kit.task}' for the reviser 'chat'; it knows {', '.join(made)}")
    return made[kit.task](kit)
