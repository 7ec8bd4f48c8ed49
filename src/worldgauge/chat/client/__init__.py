"""Language and vision models behind chat endpoints: ask, check the answer, record everything, replay (docs/chat.md)."""

from __future__ import annotations

from worldgauge.chat.client.base import Chat
from worldgauge.chat.client.budget import Prices
from worldgauge.chat.client.errors import AnswerError, BudgetError, EndpointError, NoAnswerError, PromptTooLongError
from worldgauge.chat.client.images import Encoding
from worldgauge.chat.client.limits import Limits
from worldgauge.chat.client.model import ChatModel
from worldgauge.chat.client.question import Message, Question
from worldgauge.chat.client.reply import Probabilities, Reply
from worldgauge.chat.client.scripted import ScriptedChat

__all__ = [
    "AnswerError",
    "BudgetError",
    "Chat",
    "ChatModel",
    "Encoding",
    "EndpointError",
    "Limits",
    "Message",
    "NoAnswerError",
    "Prices",
    "Probabilities",
    "PromptTooLongError",
    "Question",
    "Reply",
    "ScriptedChat",
]
