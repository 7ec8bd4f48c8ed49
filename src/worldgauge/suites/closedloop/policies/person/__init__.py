"""A person as the agent: the policies `person`, the desk where the loop waits for somebody, and the page on it."""

from worldgauge.suites.closedloop.policies.person.policy import PersonProposer, PersonReviser

__all__ = ["PersonProposer", "PersonReviser"]
