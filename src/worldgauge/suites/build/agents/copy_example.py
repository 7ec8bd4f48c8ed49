"""`copy-example`: answers with the worked example of the prompt."""

from __future__ import annotations

import re

from worldgauge.chat.prompts import Prompts
from worldgauge.core.agent import AgentSpec, Answer, Problem, agents
from worldgauge.suites.build.agents._prompting import prompt_of
from worldgauge.suites.build.agents._words import constant

_EXAMPLE = re.compile(r"^Answer:\n(.*?)\n^End of the example\.$", re.MULTILINE | re.DOTALL)


@agents.register("copy-example")
class CopyExample:
    """Repeats the answer of the example in our own prompt: the right form, and nothing of the task.

    Reasoning is prompted without an example: there it gives the first choice.
    """

    def __init__(self) -> None:
        prompts = Prompts("worldgauge.suites.build")
        self.spec = AgentSpec("copy-example", settings={"prompts": prompts.digest})
        self._prompts = prompts

    def answer(self, problem: Problem) -> Answer:
        """The example's answer."""
        template = self._prompts[prompt_of(problem)]
        example = example_of(template.text)
        return Answer(constant(problem) if example is None else example, {"prompt": template.label})


def example_of(text: str) -> str | None:
    """What stands in a template as the answer of its example; None where it has none."""
    found = _EXAMPLE.search(text)
    return found[1] if found else None
