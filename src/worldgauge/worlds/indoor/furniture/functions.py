"""What the things in a home are for, and the states that they can be seen in."""

from __future__ import annotations

import numpy as np

STATES: dict[str, tuple[str, ...]] = {
    "door": ("open", "closed"),
    "curtain": ("open", "drawn"),
    "floor lamp": ("on", "off"),
    "table lamp": ("on", "off"),
    "ceiling lamp": ("on", "off"),
    "television": ("on", "off"),
    "computer monitor": ("on", "off"),
    "oven": ("on", "off"),
    "fireplace": ("burning", "out"),
    "bed": ("made", "unmade"),
    "wardrobe": ("open", "closed"),
    "toilet": ("open", "closed"),
    "bathtub": ("full", "empty"),
}
"""Names of objects and the states each is in one of; of a toilet it is that of its lid."""

_BY_NAME = {
    "oven": "to bake food",
    "fridge": "to keep food cold",
    "dishwasher": "to wash dishes",
    "washing machine": "to wash clothes",
    "kitchen sink": "to rinse dishes",
    "wash basin": "to wash hands",
    "dining table": "to eat at",
    "desk": "to work at",
    "coffee table": "to put cups on",
    "console table": "to put keys on",
    "nightstand": "to put things on beside the bed",
    "tv stand": "to put the television on",
    "coat rack": "to hang coats on",
    "wardrobe": "to keep clothes in",
    "shoe cabinet": "to keep shoes in",
    "sideboard": "to keep tableware in",
    "wall cabinet": "to keep dishes in",
    "bathroom cabinet": "to keep toiletries in",
    "ottoman": "to put feet on",
    "television": "to watch films",
    "computer monitor": "to look at while working",
    "treadmill": "to run on",
    "weight bench": "to lift weights on",
    "exercise bike": "to cycle on",
    "pillow": "to lay one's head on",
    "ceiling lamp": "to light the room",
}
_BY_CATEGORY = {
    "bathtub": "to bathe in",
    "bed": "to sleep in",
    "chair": "to sit on",
    "chest of drawers": "to keep linen in",
    "clothes": "to wear",
    "counter": "to prepare food on",
    "curtain": "to keep the light out",
    "cushion": "to lean on",
    "door": "to close a room",
    "fireplace": "to warm the room",
    "mirror": "to look at oneself in",
    "seating": "to sit on",
    "shower": "to shower in",
    "sofa": "to sit on",
    "stool": "to sit on",
    "toilet": "to use as a lavatory",
    "towel": "to dry oneself with",
    "window": "to let daylight in",
    "basket": "to collect laundry in",
    "bookcase": "to keep books in",
    "books": "to read",
    "bowl": "to serve food in",
    "lamp": "to read by",
    "rug": "to keep feet warm",
}


def drawn_state(rng: np.random.Generator, name: str, first: float = 0.5) -> str:
    """Draw one of the two states of a thing.

    Args:
        rng: Generator.
        name: Name of the thing.
        first: Probability of the first state.
    """
    one, other = STATES[name]
    return one if rng.random() < first else other


def function_of(category: str, name: str) -> str:
    """Return what a thing is for.

    Args:
        category: Its category.
        name: Its name.

    Returns:
        The function in words; "" for pictures and plants.
    """
    return _BY_NAME.get(name) or _BY_CATEGORY.get(category, "")
