"""Words of answers about rooms: what things and sides are called, and how a text says yes or no."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

READ_CHARACTERS = 1500
"""Of an answer that are looked at; 70 words are about 400."""

Vocabulary = Mapping[tuple[str, ...], str]
"""Phrases, and what is meant by each."""


def _phrases(table: Mapping[str, tuple[str, ...]]) -> Vocabulary:
    """What is meant, and other words for it, turned round."""
    return {tuple(phrase.split()): name for name, others in table.items() for phrase in (name, *others)}


THINGS = _phrases(
    {
        "anvil": (),
        "bathtub": ("tub", "bath tub", "bath"),
        "bed": (),
        "bookshelf": ("bookshelves", "bookcase", "book shelf", "book shelves", "shelf", "shelves", "shelving"),
        "cabinet": ("sideboard", "dresser"),
        "carpet": ("rug", "mat"),
        "chair": ("seat", "stool"),
        "chest": ("trunk", "crate", "box"),
        "counter": ("worktop", "countertop"),
        "desk": ("writing desk",),
        "door": ("doorway", "entrance"),
        "fireplace": ("hearth", "chimney"),
        "gap": ("opening", "passage", "passageway"),
        "lamp": ("lantern", "light source", "glowstone", "floor lamp"),
        "piano": (),
        "plant": ("tree", "bush", "shrub", "potted plant"),
        "refrigerator": ("fridge",),
        "sink": ("basin", "washbasin", "cauldron"),
        "sofa": ("couch", "settee"),
        "stairs": ("staircase", "steps"),
        "stove": ("oven", "cooker", "furnace"),
        "table": ("dining table", "coffee table"),
        "television": ("tv", "tv set"),
        "toilet": ("loo", "wc"),
        "wardrobe": ("closet", "cupboard", "armoire"),
        "window": (),
        "workbench": ("crafting table", "work bench", "craft table"),
    }
)
"""What stands in rooms, and other words for it."""
HANDS = _phrases(
    {
        "left": ("leftward", "leftwards", "left hand side"),
        "right": ("rightward", "rightwards", "right hand side"),
        "straight": ("straight on", "straight ahead", "ahead", "forward", "forwards"),
    }
)
COMPASS = _phrases(
    {
        "north": ("northern", "northward", "northwards"),
        "east": ("eastern", "eastward", "eastwards"),
        "south": ("southern", "southward", "southwards"),
        "west": ("western", "westward", "westwards"),
    }
)
PLACES = _phrases(
    {
        "above": ("over",),
        "before": ("in front", "front", "right before"),
        "behind": ("rear",),
        "below": ("under", "beneath"),
        "between": (),
        "corner": (),
        "far": ("distant", "away", "far away", "farther"),
        "middle": ("centre", "centred", "central", "centrally"),
        "near": ("close", "next", "right next", "beside", "adjacent", "nearby", "nearer"),
    }
)
SENSES = _phrases(
    {
        "block": ("blocks", "blocked", "blocking", "obstruct", "obstructs", "obstructed", "in the way"),
        "free": ("empty", "clear", "unobstructed"),
        "move": ("moved", "moving", "relocate", "shift", "push", "pull", "remove", "put", "placed"),
        "narrow": ("too small", "smaller"),
        "room enough": ("enough room", "enough space", "wide enough", "fits", "space enough"),
        "turn": ("turned", "rotate", "rotated", "turning"),
        "wide": ("width",),
    }
)
NUMBERS = _phrases(
    {
        str(number): (word,)
        for number, word in enumerate(
            ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
        )
        # "One" is mostly a pronoun in these answers.
        if word != "one"
    }
)

DENIES = frozenset({"not", "no", "never", "neither", "nor", "without", "nothing", "nobody", "none", "cannot", "isnt"})
_YES = frozenset({"yes", "yeah", "yep", "yup", "true", "correct", "indeed", "certainly", "definitely", "affirmative"})
_NO = frozenset({"no", "nope", "nah", "false", "incorrect", "negative"})
_HEDGES = ("yes and no", "yes or no", "no and yes", "maybe", "perhaps", "it depends", "depends", "possibly")
_BAD = frozenset(
    {
        *("block", "blocks", "blocked", "blocking", "obstructed", "impossible", "unable", "insufficient"),
        *("wrong", "narrow", "far", "dark", "lacks", "lack", "hidden", "hides", "misplaced", "inappropriate"),
        *("unusual", "strange", "back"),
    }
)
_AFFIRMS = frozenset(
    {
        *("is", "are", "can", "could", "does", "do", "would", "will", "fits", "faces", "possible", "enough"),
        *("stands",),
    }
)
_AFTER_NO = frozenset(
    {
        *("it", "there", "the", "they", "one", "you", "because", "since", "this", "that", "somebody", "i"),
        *("as", "he"),
    }
)
_LISTING = frozenset({"and", "or", "the", "a", "an", "as", "well", "both", "with", "plus", "also", "either"})
_AUXILIARIES = frozenset(
    {
        *("is", "are", "do", "does", "did", "can", "could", "would", "will", "should", "has", "have", "was"),
        *("were", "may"),
    }
)
_NEAR_WORDS = 3
_LONGEST = 3
"""Words of a phrase of the vocabularies."""


class Named(NamedTuple):
    """An entry of a vocabulary found in a text. first, last: numbers of its words there. denied: after a "not"."""

    name: str
    first: int
    last: int
    denied: bool


def words_of(text: str) -> list[str]:
    """Lower case words of the first `READ_CHARACTERS`; sentences end in "."; "n't" is " not", spelling is British."""
    said = text[:READ_CHARACTERS].lower().replace("’", "'").replace("can't", "can not").replace("cannot", "can not")
    said = said.replace("n't", " not").replace("center", "centre").replace("'s", "").replace("color", "colour")
    said = re.sub(r"(north|south)[-\s]?(east|west)", r"\1 \2", said)
    return re.findall(r"\w+|[.,;:!?\n]", said)


def sentence(words: Sequence[str]) -> list[str]:
    """The words up to the first end of a sentence or clause, commas left out."""
    end = next((n for n, word in enumerate(words) if word in ".;:!?\n"), len(words))
    return [word for word in words[:end] if word != ","]


def named(words: Sequence[str], *vocabularies: Vocabulary) -> list[Named]:
    """What a text names, in its order; longer phrases before shorter ones, plurals as well."""
    found: list[Named] = []
    n = 0
    while n < len(words):
        for long in range(min(_LONGEST, len(words) - n), 0, -1):
            phrase = tuple(words[n : n + long])
            name = _meant(phrase, vocabularies) or _meant((*phrase[:-1], phrase[-1].removesuffix("s")), vocabularies)
            if name:
                denied = bool(DENIES & set(words[max(0, n - _NEAR_WORDS) : n]) - {"without"})
                found.append(Named(name, n, n + long - 1, denied))
                n += long - 1
                break
        n += 1
    return found


def _meant(phrase: tuple[str, ...], vocabularies: Sequence[Vocabulary]) -> str:
    return next((vocabulary[phrase] for vocabulary in vocabularies if phrase in vocabulary), "")


def first_listed(words: Sequence[str], found: Iterable[Named]) -> set[str]:
    """Names of the first run of things that only "and", "or", commas and articles stand between, denied ones passed."""
    run: set[str] = set()
    last = -1
    for one in found:
        if one.denied:
            continue
        if run and not all(word in _LISTING or word == "," for word in words[last + 1 : one.first]):
            break
        run.add(one.name)
        last = one.last
    return run


def said_at_once(words: Sequence[str]) -> str | None:
    """ "yes", "no" or "both" when a text begins with it; None otherwise."""
    plain = [word for word in words if word not in ",\n"]
    if " ".join(plain[:3]).startswith(_HEDGES):
        return "both"
    while plain[:1] and plain[0] in (".", ":", "answer", "the", "is", "my", "i", "think", "well", "so"):
        plain = plain[1:]
    if not plain:
        return None
    if plain[0] in _YES:
        return "yes"
    punctuated = any(a == plain[0] and b in ".,;:!\n" for a, b in pairwise(words[:7]))
    if plain[0] in _NO and (len(plain) == 1 or punctuated or plain[0] != "no" or plain[1] in _AFTER_NO):
        return "no"
    return None


def tendency(words: Sequence[str]) -> str | None:
    """ "yes", "no", "both", or None: what a text tends to, at once or by its first sentence."""
    said = said_at_once(words)
    if said:
        return said
    first = sentence(words)
    bad = [n for n, word in enumerate(first) if word in _BAD]
    denials = [n for n, word in enumerate(first) if word in DENIES]
    # "Nothing blocks" and "not too far" are no denials.
    turned = {n for n in denials for b in bad if 0 < b - n <= _NEAR_WORDS}
    if set(denials) - turned or (bad and not turned):
        return "no"
    return "yes" if turned or _AFFIRMS & set(first) else None


def is_yes_or_no(question: str) -> bool:
    """Whether a question asks for yes or no: one of its sentences opens with "is", "does", "can" and has no "or"."""
    words = words_of(question)
    starts = [0, *(n + 1 for n, word in enumerate(words) if word in ".,;:!?\n")]
    return "or" not in words and any(n < len(words) and words[n] in _AUXILIARIES for n in starts)
