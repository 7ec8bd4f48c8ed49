"""Names of the things in the families, as a walker is told to find them."""

from __future__ import annotations

NAMES: dict[str, str] = {
    # open country
    "rock_arch": "rock arch",
    "fallen_log": "fallen tree",
    # a base
    "dome": "dome",
    "spire": "tower",
    "module": "module",
    "landing_pad": "landing pad",
    "spaceship": "spaceship",
    "dish": "antenna",
    "screen": "screen",
    "reactor": "reactor",
    "crates": "crates",
    "crystal": "crystals",
    # toys
    "lollipop": "lollipop",
    "cone_tree": "striped tree",
    "toadstool": "toadstool",
    "candy_cane": "candy cane",
    "gumdrop": "gumdrop",
    "toy_blocks": "toy blocks",
    "pinwheel": "pinwheel",
    "rainbow": "rainbow",
    "toy_castle": "castle",
    "toy_pond": "duck pond",
    # antiquity
    "great_temple": "temple",
    "rotunda": "rotunda",
    "colossus": "giant statue",
    "aqueduct": "aqueduct",
    "obelisk": "obelisk",
    "columns": "columns",
    "arch": "arch",
    # a city
    "town_house": "house",
    "car": "car",
    "bus": "bus",
    "bench": "bench",
    "fountain": "fountain",
    "traffic_light": "traffic light",
    # a works
    "works_hall": "factory hall",
    "storage_tank": "storage tank",
    "gas_holder": "gas holder",
    "cooling_tower": "cooling tower",
    "chimney": "chimney",
    "refinery": "refinery",
    "silo": "silo",
    "container": "container",
    "gantry_crane": "crane",
    "heap": "heap",
    "barrels": "barrels",
    "lorry": "lorry",
    "wagon": "wagon",
    # rooms
    "bookcase": "bookcase",
    "column": "column",
    "statue": "statue",
    "skeleton": "skeleton",
    "globe": "globe",
    "show_case": "display case",
    "table": "table",
    # shores
    "hut": "hut",
    "crane": "crane",
    "monument": "monument",
    "boat": "boat",
    "sailing_ship": "sailing ship",
    "reef": "coral reef",
    "buoy": "buoy",
    "lighthouse": "lighthouse",
}
"""Name of each kind of object (`world.Drawn.kind`) that the settlements do not have."""
