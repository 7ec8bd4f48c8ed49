"""Very small sets of every collection, and runs on them, that an installation without extras can make."""

SMALL = {
    "loopnav": ["--settlements", "1", "--ranges", "5", "--types", "ABA", "--per-combination", "1", "--size", "64x36"],
    "mind": ["--mem", "1", "--action-space", "0", "--mirror", "1", "--train", "0", "--frames", "24", "--size", "64x36"],
    "targetbench": ["--scenes", "1", "--per-scene", "1", "--places", "indoors", "--size", "96x54", "--fps", "5"],
    "worldinworld": [
        "--scenes",
        "1",
        "--recognition",
        "0",
        "--navigation",
        "1",
        "--questions",
        "1",
        "--manipulation",
        "0",
    ],
    "mineanybuild": ["--structures", "1", "--stimuli", "0", "--commonsense", "1", "--size", "64"],
    "coverage": ["--scenes", "1", "--size", "64x36", "--points", "4", "--steps", "20"],
}
"""Options of `collect` by name of the collection."""
RUNS = {
    "loopnav": ["--model", "freeze", "--model", "memory"],
    "mind": ["--model", "freeze", "--set", "poses=exact", "--limit", "2"],
    "targetbench": ["--model", "ahead", "--set", "decoder=exact", "--set", "fps=5"],
    "worldinworld": [
        "--model",
        "oracle",
        "--set",
        "task=navigation",
        "--set",
        "panorama_px=128",
        "--set",
        "view_px=64",
    ],
    "mineanybuild": ["--agent", "reader"],
}
"""Options of `run` by name of the suite."""
