"""Sentences for a walker: words that name the target, or that describe it by what it looks like or is good for.

The implicit sentence of a category never contains a word of its name. All sentences are our own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from worldgauge.core.errors import UnknownNameError

EXPLICIT_SHARE = 73 / 125
"""Share of scenarios that name their target: that of the published benchmark (derived from Tables 1 and 2)."""


VAGUE = frozenset({"appliances", "clothes", "furniture", "seating"})
"""Categories whose name does not say which thing is meant: they are never a target."""

Label = Literal["explicit", "implicit"]


class Wording(NamedTuple):
    """Both sentences that say where to go."""

    explicit: str
    implicit: str


def wording_of(category: str) -> Wording:
    """Both sentences for a category of landmarks.

    Raises:
        UnknownNameError: For a category that has none.
    """
    try:
        return Wording(f"Walk to the {category}.", _IMPLICIT[category])
    except KeyError:
        raise UnknownNameError("wording for the category", category, _IMPLICIT) from None


def draw_label(rng: np.random.Generator) -> Label:
    """Draw "explicit" or "implicit", by EXPLICIT_SHARE."""
    return "explicit" if rng.random() < EXPLICIT_SHARE else "implicit"


def categories() -> tuple[str, ...]:
    """All categories that have a wording, sorted."""
    return tuple(sorted(_IMPLICIT))


def targets_among(categories: Iterable[str]) -> list[str]:
    """Those that can be a target, sorted: they have a wording, and are not vague."""
    return sorted((set(categories) & _IMPLICIT.keys()) - VAGUE)


_OUTDOORS = {
    "cottage": "Walk to the small home with a single room, where one family could sleep tonight.",
    "townhouse": "Walk to the home with two storeys whose upper one stands out over the street.",
    "longhouse": "Walk to the long low home where a big family lives under one ridge.",
    "corner house": "Walk to the home whose two wings meet at a right angle.",
    "barn": "Walk to the tall building open in front, where the harvest is kept dry.",
    "smithy": "Walk to the place where iron is heated and horseshoes are made.",
    "library": "Walk to the building where you could borrow something to read.",
    "church": "Walk to the building with the steeple, where people pray.",
    "windmill": "Walk to the tower whose four arms turn in the breeze.",
    "watermill": "Walk to the building with the great wheel on its side.",
    "watchtower": "Walk to the high lookout from which a guard sees far over the land.",
    "minaret": "Walk to the slender building with a balcony and a cupola, from which people are called to prayer.",
    "pyramid": "Walk to the building whose steps rise from all sides to a point.",
    "tent": "Walk to the shelter made of striped cloth.",
    "igloo": "Walk to the round white shelter built of blocks of ice.",
    "round hut": "Walk to the circular home under a cone of thatch.",
    "market stall": "Walk to the counter under an awning, where goods are sold.",
    "well": "Walk to the place where a bucket can be let down for drinking water.",
    "pavilion": "Walk to the open roof on posts, where a group could sit in the shade.",
    "vegetable garden": "Walk to the plot where food is grown in rows.",
    "animal pen": "Walk to the fenced yard where sheep could be kept.",
    "ruin": "Walk to what is left of walls that fell down long ago.",
    "stone circle": "Walk to the ancient rocks that were set upright in a ring.",
    "campsite": "Walk to the place where travellers spend the night by a fire.",
    "lamp post": "Walk to what lights the street at night.",
    "haystack": "Walk to the dried grass that is piled up as fodder.",
    "pond": "Walk to the still water where ducks could swim.",
    "frozen pond": "Walk to the smooth ice on which you could skate.",
    "boulder": "Walk to the big lump of rock.",
    "oak tree": "Walk to the broad green crown on a brown trunk, from which acorns fall.",
    "birch tree": "Walk to the slim trunk with white bark and dark marks.",
    "spruce tree": "Walk to the tall evergreen with needles that people decorate in winter.",
    "acacia tree": "Walk to the bent trunk under a flat crown, as giraffes like it.",
    "palm tree": "Walk to the bare trunk with fronds at its top, as on a beach.",
    "dead tree": "Walk to the trunk that has lost every leaf.",
    "cactus": "Walk to the green column that has spines instead of leaves.",
    "shrub": "Walk to the low ball of leaves, no higher than a person.",
    "dry bush": "Walk to the withered brown twigs that stick out of the ground.",
    "poppies": "Walk to the red flowers.",
    "dandelions": "Walk to the small yellow flowers whose seeds children blow away.",
    "cornflowers": "Walk to the blue blossoms.",
    "daisies": "Walk to the white blossoms with a yellow heart.",
    "tulips": "Walk to the orange blossoms shaped like cups.",
    "sunflowers": "Walk to the big yellow blossoms that are grown for their oil.",
    "pumpkins": "Walk to the orange fruit that is carved into lanterns in autumn.",
}

_INDOORS = {
    "appliances": "Walk to the machine that does housework.",
    "aquarium": "Walk to the place where fish live behind glass.",
    "armchair": "Walk to a soft seat for one person with rests for both elbows.",
    "basket": "Walk to the woven container.",
    "bathroom cabinet": "Walk to the place where toothpaste and shampoo are put away.",
    "bathtub": "Walk to the place where you could lie down in warm water.",
    "bed": "Walk to the place where you could sleep through the night.",
    "bench": "Walk to a place where two people could sit side by side to rest.",
    "bicycle": "Walk to the thing with two wheels and pedals.",
    "bookcase": "Walk to the place where novels stand in rows.",
    "books": "Walk to something that you could read.",
    "bookshelf": "Walk to the place where novels stand in rows.",
    "bowl": "Walk to the round dish that fruit is put in.",
    "cabinet": "Walk to the piece with doors behind which things are stored.",
    "cardboard box": "Walk to the brown carton that things are moved in.",
    "ceiling lamp": "Walk to what lights the whole room from above.",
    "chair": "Walk to a seat with a back and four legs, for one person.",
    "chest of drawers": "Walk to the piece where socks and shirts are kept.",
    "clock": "Walk to what tells the time.",
    "clothes": "Walk to what people wear.",
    "coat rack": "Walk to the place where jackets are hung up.",
    "coats": "Walk to what you put on before going out into the cold.",
    "coffee table": "Walk to the low wooden top in front of the sofa, where a cup can be put down.",
    "computer monitor": "Walk to the screen at which someone works.",
    "console table": "Walk to the narrow wooden top on legs where keys are dropped on the way in.",
    "counter": "Walk to the long worktop where vegetables are chopped.",
    "crib": "Walk to the place where a baby sleeps behind bars.",
    "curtain": "Walk to the cloth that is drawn when it gets dark outside.",
    "cushion": "Walk to the small soft thing that you could lean your back against.",
    "desk": "Walk to the place where someone does paperwork.",
    "dining table": "Walk to the place where a family eats together.",
    "dishwasher": "Walk to the machine that cleans plates.",
    "door": "Walk to what you would close behind you when you leave.",
    "dresser": "Walk to the piece with drawers where socks and shirts are kept.",
    "exercise bike": "Walk to the thing with pedals on which you could train without getting anywhere.",
    "fireplace": "Walk to the place where logs burn to warm the room.",
    "floor lamp": "Walk to the tall stand with a shade that gives light in the evening.",
    "fridge": "Walk to the appliance that keeps milk cold.",
    "furniture": "Walk to the wooden piece that things are put on.",
    "guitar": "Walk to the instrument with six strings.",
    "gym equipment": "Walk to what someone trains on to keep fit.",
    "ironing board": "Walk to the narrow surface on which shirts are made smooth.",
    "kitchen counter": "Walk to the long worktop where vegetables are chopped.",
    "kitchen island": "Walk to the block of worktop that stands free, so that cooks can go all around it.",
    "kitchen sink": "Walk to the place where plates are rinsed.",
    "lamp": "Walk to what gives light in the evening.",
    "laundry": "Walk to the things that have to be washed.",
    "laundry basket": "Walk to what holds dirty things until they are washed.",
    "mirror": "Walk to the place where you could see yourself.",
    "nightstand": "Walk to the small piece beside the sleeping place that holds an alarm and a glass of water.",
    "ottoman": "Walk to the padded cube that you could put your feet up on.",
    "oven": "Walk to the appliance in which a cake is baked.",
    "piano": "Walk to the instrument with black and white keys.",
    "picture": "Walk to the work of art on the wall.",
    "pillow": "Walk to the soft thing that you would rest your head on.",
    "plant": "Walk to the green leaves that need watering now and then.",
    "potted plant": "Walk to the green leaves that need watering now and then.",
    "radiator": "Walk to what gives off heat under the window in winter.",
    "refrigerator": "Walk to the appliance that keeps milk cold.",
    "rug": "Walk to the soft woven cloth on the floor.",
    "seating": "Walk to a place where you could rest your legs.",
    "shoe cabinet": "Walk to the piece in which boots and sandals are put away on the way in.",
    "shoe rack": "Walk to the place where boots are left on the way in.",
    "shower": "Walk to the place where you could wash standing up.",
    "sideboard": "Walk to the long low piece with doors where the good dishes are kept.",
    "sink": "Walk to the basin under a tap.",
    "sofa": "Walk to the wide soft seat where three people could watch a film.",
    "stool": "Walk to a small seat that has no back.",
    "stove": "Walk to the appliance on which soup is boiled.",
    "suitcase": "Walk to what someone packs for a journey.",
    "table": "Walk to the flat top on legs at which people eat and play cards.",
    "table lamp": "Walk to the small light that stands on a piece of furniture.",
    "television": "Walk to the screen on which a film can be watched.",
    "toilet": "Walk to the porcelain seat that is flushed.",
    "towel": "Walk to the cloth with which you would dry your hands.",
    "treadmill": "Walk to the machine on which you could run without getting anywhere.",
    "tv monitor": "Walk to the dark screen on which moving images are shown.",
    "tv stand": "Walk to the low piece of furniture under the screen on which films are watched.",
    "wall cabinet": "Walk to the piece with doors above the worktop, where cups and plates are put away.",
    "wardrobe": "Walk to the tall piece with doors behind which dresses and coats hang.",
    "wash basin": "Walk to the place where you could brush your teeth.",
    "washing machine": "Walk to the appliance with a drum that cleans shirts and socks.",
    "waste bin": "Walk to the place where rubbish is thrown away.",
    "weight bench": "Walk to the place where someone lies down to lift a barbell.",
    "window": "Walk to the place where you could look outside.",
}

_IMPLICIT = {**_OUTDOORS, **_INDOORS}
