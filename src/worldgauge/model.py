"""What is evaluated: models, agents and policies, and the networks and decoders that metrics need.

    from worldgauge.model import ModelSpec, models

A model that runs in an environment of its own imports from `worldgauge_serve` instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldgauge.core.lazy import lazy

if TYPE_CHECKING:
    from worldgauge.chat.model import ChatModel, Limits
    from worldgauge.chat.question import Message
    from worldgauge.chat.reply import EndpointError
    from worldgauge.chat.transport import Prices
    from worldgauge.core.agent import Agent, AgentSpec, Answer, Problem, agents
    from worldgauge.core.model import ModelSpec, Needs, RolloutRequest, WorldModel
    from worldgauge.models import models
    from worldgauge.models.calibration import Calibrated
    from worldgauge.models.session import KeepsState, Session, open_session
    from worldgauge.models.video_api import VideoApi
    from worldgauge.perception.decoders import DecodedPath, Decoder, DecodeRequest, decoders, open_decoder
    from worldgauge.perception.networks import choose_device, networks
    from worldgauge.perception.networks.depth import DepthAnything
    from worldgauge.suites.mineanybuild.critics import Critic, critics
    from worldgauge.suites.worldinworld.policies.contract import ActionPlan, PolicyKit, proposers, revisers
    from worldgauge.worlds.tabletop.pose_plans import clip_indices
    from worldgauge.worlds.walking.primitives import from_letters, nav_control, render_text, trajectory

__all__ = [
    "ActionPlan",
    "Agent",
    "AgentSpec",
    "Answer",
    "Calibrated",
    "ChatModel",
    "Critic",
    "DecodeRequest",
    "DecodedPath",
    "Decoder",
    "DepthAnything",
    "EndpointError",
    "KeepsState",
    "Limits",
    "Message",
    "ModelSpec",
    "Needs",
    "PolicyKit",
    "Prices",
    "Problem",
    "RolloutRequest",
    "Session",
    "VideoApi",
    "WorldModel",
    "agents",
    "choose_device",
    "clip_indices",
    "critics",
    "decoders",
    "from_letters",
    "models",
    "nav_control",
    "networks",
    "open_decoder",
    "open_session",
    "proposers",
    "render_text",
    "revisers",
    "trajectory",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "chat.model": "ChatModel Limits",
        "chat.question": "Message",
        "chat.reply": "EndpointError",
        "chat.transport": "Prices",
        "core.agent": "Agent AgentSpec Answer Problem agents",
        "core.model": "ModelSpec Needs RolloutRequest WorldModel",
        "models": "models",
        "models.calibration": "Calibrated",
        "models.session": "KeepsState Session open_session",
        "models.video_api": "VideoApi",
        "perception.decoders": "DecodeRequest DecodedPath Decoder decoders open_decoder",
        "perception.networks": "choose_device networks",
        "perception.networks.depth": "DepthAnything",
        "suites.mineanybuild.critics": "Critic critics",
        "suites.worldinworld.policies.contract": "ActionPlan PolicyKit proposers revisers",
        "worlds.tabletop.pose_plans": "clip_indices",
        "worlds.walking.primitives": "from_letters nav_control render_text trajectory",
    },
)
