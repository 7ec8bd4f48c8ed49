"""What collections in scans share: which scenes are walked in, what each is for, and under whose terms."""

from __future__ import annotations

import re
from hashlib import sha256

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UsageError
from worldgauge.worlds.scan import sources

SCENES_HELP = (
    "With --world scan: registered folders, for their scenes of the split, or keys of scenes, separated by commas "
    "(worldgauge world list)."
)
WORLD_HELP = 'Give "scan" to collect in scans of yours, which --scenes names.'
MOST_SCENES = 1000
_HM3D = re.compile(r"(\d{5})-[A-Za-z0-9]{11}")
_MP3D = {
    "train": """
        17DRP5sb8fy 1LXtFkjw3qL 1pXnuDYAj8r 29hnd4uzFmX 5LpN3gDmAk7 5q7pvUzZiYa 759xd9YjKW5 7y3sRwLe3Va 82sE5b5pLXE
        8WUmhLawc2A aayBHfsNo7d ac26ZMwG7aT B6ByNegPMKs b8cTxDM8gDG cV4RVeZvu5T D7N2EKCX4Sj e9zR4mvMWw7 EDJbREhghzL
        GdvgFV5R1Z5 gTV8FGcVJC9 HxpKQynjfin i5noydFURQK JeFG25nYj2p JF19kD82Mey jh4fc5c5qoQ kEZ7cmS4wCh mJXqzFtmKg4
        p5wJjkQkbXX Pm6F8kyY3z2 pRbA3pwrgk9 PuKPg4mmafe PX4nDJXEHrG qoiz87JEwZ2 rPc6DW4iMge s8pcmisQ38h S9hNv5qa7GM
        sKLMLpTHeUy SN83YJsR3w2 sT4fr6TAbpF ULsKaCPVFJR uNb9QFRL6hY Uxmj2M2itWa V2XKFyX4ASd VFuaQ6m2Qom VVfe2KiqLaN
        Vvot9Ly1tCj vyrNrziPKCB VzqfbhrpDEA XcA2TqTSSAj 2n8kARJN3HM D7G3Y4RVNrH dhjEzFoUFzH E9uDoFAP3SH gZ6f7yhEvPG
        JmbYfDe2QKZ r1Q1Z4BcV1o r47D5H71a5s ur6pFq6Qu1A VLzqgDo317F YmJkqBEsHnH ZMojNkEp431
    """,
    "val": """
        2azQ1b91cZZ 8194nk5LbLH EU6Fwq7SyZv oLBMNvg9in8 QUCTc6BB5sX TbHJrupSAjP X7HyMhZNoso pLe4wQe7qrG x8F5xyUWy9e
        Z6MFQCViBuw zsNo4HB9uLZ
    """,
    "test": """
        2t7WUuJeko7 5ZKStnWn8Zo ARNzJeq3xxb fzynW3qQPVF jtcxE69GiFV pa4otMbVnkk q9vSo1VnCiC rqfALeAoiTq UwV83HsGsw3
        wc2JMjhGNzB WYY7iVyf5p8 YFuZgdQ5vWj yqstnuAEVhm YVUC4YcDtcY gxdoqLR6rwA gYvKGZ5eRqb RPmz2sHmrrY Vt2qJdWjCF2
    """,
}
"""The split that Matterport3D's benchmark publishes, 61 / 11 / 18 scenes."""
_MP3D_SPLIT = {id: split for split, ids in _MP3D.items() for id in ids.split()}


def split_of(key: str) -> str:
    """What a scene is for: train, val or test.

    Scenes of HM3D by their numbers, as published: 800 train, 100 val, 100 test. Those of Matterport3D by its list.
    Others by a hash of the key, 80, 10 and 10 of 100.

    Args:
        key: Key of the scene.
    """
    name = key.rpartition("/")[2]
    published = _HM3D.fullmatch(name)
    if published:
        number = int(published[1])
        return "train" if number < 800 else "val" if number < 900 else "test"
    if name in _MP3D_SPLIT:
        return _MP3D_SPLIT[name]
    place = int(sha256(key.encode()).hexdigest()[:8], 16) % 100
    return "train" if place < 80 else "val" if place < 90 else "test"


def scan_scenes(world: str | None, scenes: object, split: str) -> tuple[str, ...]:
    """Keys of the scans of a collection: those that are named, and those of folders that are in the split.

    Args:
        world: "scan", or None for the collection's own worlds.
        scenes: What --scenes says.
        split: The split.

    Returns:
        The keys; none where the collection is not in scans.

    Raises:
        UsageError: World and scenes do not go together, or no scene of the folders is in the split.
        UnknownNameError: No folder of a name is registered.
        WorldError: A scene is not there.
    """
    if (world == "scan") != isinstance(scenes, str):
        raise UsageError("--world scan and --scenes with folders or keys go together: worldgauge world list")
    if not isinstance(scenes, str):
        return ()
    named = {one.strip() for one in scenes.split(",")}
    found = sources.chosen(scenes)
    kept = tuple(key for key in found if key in named or split_of(key) == split)
    if not kept:
        told = ", ".join(f"{key} {split_of(key)}" for key in found[:4])
        raise UsageError(
            f"no scene of '{scenes[:40]}' is in split {split} ({told}): name keys, or give another --split"
        )
    if len(kept) > MOST_SCENES:
        raise UsageError(f"--scenes names {len(kept)} scans; a collection holds up to {MOST_SCENES}")
    return kept


def scan_facts(key: str) -> WorldFacts:
    """The world of a scene, without opening it."""
    return WorldFacts("scan", {"scene": key})


def told_of(keys: tuple[str, ...], *, ground: bool = False) -> dict[str, str]:
    """What the settings of a collection say of its scans.

    Args:
        keys: Keys of its scenes.
        ground: Whether walkers stand on published navmeshes where there are any, not only on floors found in the mesh.

    Returns:
        "floor", what is walked on: "navmesh" where all of them have one, else "heightfield", whose distances are not
        comparable with published ones; "licence", terms of the data sets, where any are known.
    """
    known = sources.sources()
    published = ground and all(sources.scene(key).navmesh is not None for key in keys)
    held = (known[name].terms for name in dict.fromkeys(key.partition("/")[0] for key in keys) if name in known)
    terms = "; ".join(dict.fromkeys(one for one in held if one))
    return {"floor": "navmesh" if published else "heightfield", **({"licence": terms} if terms else {})}
