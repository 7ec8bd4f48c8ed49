"""Where the conformance tests get data for a suite: the name of a fixture that yields its data folder."""

FOLDERS = {"loopnav": "walks", "target": "scenarios", "mind": "clips", "closedloop": "episodes", "build": "builds"}
