"""Vocabulary of questions about homes: names of things, and synonyms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from worldgauge.worlds.indoor.furniture.functions import STATES
from worldgauge.worlds.indoor.homes import HomeObject as Known

ROOMS: dict[str, tuple[str, ...]] = {
    "corridor": ("hall", "hallway", "passage"),
    "living room": ("lounge", "sitting room"),
    "kitchen": (),
    "bedroom": ("sleeping room",),
    "bathroom": ("bath", "washroom"),
    "study": ("office", "home office"),
    "gym": ("home gym", "fitness room", "exercise room"),
}
"""Kinds of rooms, and their synonyms."""
TWICE = frozenset({"bedroom"})
"""Kinds that a home may have several of."""

COLOURS: dict[str, tuple[str, ...]] = {
    "red": ("dark red",),
    "orange": (),
    "yellow": ("golden",),
    "green": (),
    "teal": ("turquoise", "blue-green"),
    "blue": (),
    "purple": ("violet",),
    "pink": ("rose",),
    "grey": ("gray",),
    "beige": ("tan", "sand"),
    "white": (),
    "black": (),
    "light wood": ("light brown", "pale wood"),
    "brown": ("medium brown",),
    "dark brown": ("dark wood",),
    "dark green": (),
    "light green": (),
}
"""Colours that can be asked about, and their synonyms."""
ALIKE: dict[str, frozenset[str]] = {
    "red": frozenset({"orange", "pink"}),
    "orange": frozenset({"red", "yellow", "light wood"}),
    "yellow": frozenset({"orange", "beige", "light wood"}),
    "green": frozenset({"teal", "dark green", "light green"}),
    "teal": frozenset({"green", "blue", "dark green"}),
    "blue": frozenset({"teal", "purple"}),
    "purple": frozenset({"blue", "pink"}),
    "pink": frozenset({"red", "purple"}),
}
"""Vivid colours, and those that can be mistaken for them."""

NAMES: dict[str, tuple[str, ...]] = {
    "armchair": ("easy chair",),
    "bathroom cabinet": ("vanity", "cabinet under the basin"),
    "bathtub": ("bath", "tub"),
    "bed": (),
    "bench": (),
    "bookcase": ("bookshelf", "shelf"),
    "books": ("book",),
    "bowl": ("dish",),
    "ceiling lamp": ("ceiling light",),
    "chair": (),
    "chest of drawers": ("dresser", "drawers"),
    "coat rack": ("coat hooks",),
    "coats": ("jackets",),
    "coffee table": ("low table",),
    "computer monitor": ("monitor", "computer screen", "computer"),
    "console table": ("hall table",),
    "curtain": ("curtains", "drapes"),
    "cushion": ("pillow",),
    "desk": ("writing desk",),
    "dining table": ("table",),
    "dishwasher": (),
    "door": (),
    "exercise bike": ("stationary bike", "bike"),
    "fireplace": ("hearth",),
    "floor lamp": ("standing lamp", "lamp"),
    "fridge": ("refrigerator",),
    "hanging clothes": ("clothes",),
    "kitchen counter": ("counter", "worktop"),
    "kitchen sink": ("sink",),
    "laundry": ("dirty clothes",),
    "laundry basket": ("basket", "hamper"),
    "mirror": (),
    "nightstand": ("bedside table",),
    "ottoman": ("pouf", "footstool"),
    "oven": ("stove",),
    "picture": ("painting",),
    "pillow": ("cushion",),
    "plant": ("potted plant", "houseplant"),
    "rug": ("carpet",),
    "shoe cabinet": ("shoe rack",),
    "shower": ("shower cabin",),
    "sideboard": (),
    "sofa": ("couch", "settee"),
    "stool": (),
    "table lamp": ("lamp",),
    "television": ("tv", "tv set"),
    "toilet": ("loo", "wc"),
    "towel": (),
    "treadmill": ("running machine",),
    "tv stand": ("tv cabinet",),
    "wall cabinet": ("wall cupboard", "cupboard"),
    "wardrobe": ("closet",),
    "wash basin": ("sink", "basin"),
    "washing machine": ("washer",),
    "weight bench": ("lifting bench",),
    "window": (),
}
"""Names of things that can be asked about, and their synonyms."""
MANY = frozenset({"books", "coats", "hanging clothes"})
"""Plural names."""

_CATEGORIES: dict[str, tuple[str, ...]] = {
    "appliances": ("dishwasher", "fridge", "oven", "washing machine"),
    "basket": ("laundry basket",),
    "cabinet": ("bathroom cabinet", "shoe cabinet", "sideboard", "wall cabinet", "wardrobe"),
    "clothes": ("coats", "hanging clothes", "laundry"),
    "counter": ("kitchen counter",),
    "cushion": ("pillow",),
    "furniture": ("coat rack", "nightstand", "tv stand"),
    "gym equipment": ("exercise bike", "treadmill", "weight bench"),
    "lamp": ("ceiling lamp", "floor lamp", "table lamp"),
    "seating": ("armchair", "bench", "ottoman"),
    "sink": ("kitchen sink", "wash basin"),
    "table": ("coffee table", "console table", "desk", "dining table"),
    "tv monitor": ("computer monitor", "television"),
}
_CATEGORY_OF = {name: category for category, names in _CATEGORIES.items() for name in names}

_SYNONYMS: tuple[dict[str, tuple[str, ...]], ...] = (ROOMS, COLOURS, NAMES)


def synonyms(word: str) -> tuple[str, ...]:
    """Return synonyms of a room, a colour or a thing; none for unknown words."""
    found = [other for table in _SYNONYMS for other in table.get(word, ())]
    return tuple(dict.fromkeys(found))


def category_of(name: str) -> str:
    """Return the category of a thing's name; the name itself if no category is known."""
    return _CATEGORY_OF.get(name, name)


class Thing(NamedTuple):
    """A description of a thing: its name, and its colour and room if they are said."""

    name: str
    colour: str | None = None
    room: str | None = None

    def words(self) -> str:
        """Return words such as "the teal armchair in the bedroom"."""
        where = "" if self.room is None else f" in {room_words(self.room)}"
        return f"the {'' if self.colour is None else self.colour + ' '}{self.name}{where}"

    def meant(self, objects: Sequence[Known]) -> list[Known]:
        """Return those of `objects` that the description fits."""
        return [
            one
            for one in objects
            if one.name == self.name and self.colour in (None, one.colour) and self.room in (None, one.room)
        ]


def room_words(room: str) -> str:
    """Return words such as "the kitchen", "one of the bedrooms"."""
    return f"one of the {room}s" if room in TWICE else f"the {room}"


def _any_of(words: Sequence[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_NAMED_ROOM = rf"(?:one of )?(?:the |a |an )?(?P<room>{_any_of(tuple(ROOMS))})s?"
_NAMED_THING = (
    rf"(?:the |a |an |my |your )?(?:(?P<colour>{_any_of(tuple(COLOURS))}) )?(?P<name>{_any_of(tuple(NAMES))})"
    rf"(?: in {_NAMED_ROOM})?"
)
ROOM_PATTERN, THING_PATTERN = (re.sub(r"\?P<\w+>", "?:", named) for named in (_NAMED_ROOM, _NAMED_THING))
"""What `read_room` and `read_thing` match, without groups."""
COLOUR_PATTERN = f"(?:{_any_of(tuple(COLOURS))})"
STATE_PATTERN = f"(?:{_any_of(sorted({state for pair in STATES.values() for state in pair}))})"


def read_thing(text: str) -> Thing | None:
    """Read a description in the form of `Thing.words` or close to it; None if there is none."""
    found = re.fullmatch(_NAMED_THING, text)
    return None if found is None else Thing(found["name"], found["colour"], found["room"])


def read_room(text: str) -> str | None:
    """Read a kind of room in the form of `room_words` or close to it; None if there is none."""
    found = re.fullmatch(_NAMED_ROOM, text)
    return None if found is None else str(found["room"])


def normalised(text: str) -> str:
    """Return lower case words with single spaces, no final punctuation, and British spelling of colours."""
    plain = " ".join(text.lower().replace("color", "colour").replace("gray", "grey").split())
    return plain.rstrip(" ?.!")
