"""Run one benchmark or all: `python -m benchmarks [NAME ...] [--json]`.

Each benchmark is a module of this folder with `run() -> dict` giving name, ours, reference, ratio, goal, met;
or name and not_run, a sentence that says what is missing.
"""

import argparse
import importlib
import json

NAMES = (
    "render",
    "gpu",
    "gpu_scores",
    "gpu_training",
    "panorama",
    "scan",
    "build_render",
    "build_reading",
    "worldinworld",
    "tabletop",
    "collect",
    "game",
    "ssim",
    "frame_pairs",
    "score",
    "trajectory",
    "sgcs",
    "resume",
    "memory",
    "serving",
    "chaos",
    "scale",
    "board",
    "load",
    "path_scores",
    "decoders",
)
LONG = (
    "decoder_check",
    "decoders_game",
    "networks",
    "demo",
    "coverage",
    "faults",
    "clients",
    "cluster_chaos",
    "changes",
)
"""Only when named: they take more than two minutes; networks needs the extra `torch`, decoders_game ViZDoom, demo a
package index, faults root, cluster_chaos the extra `cluster`."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n")[0])
    parser.add_argument(
        "names",
        nargs="*",
        choices=[*NAMES, *LONG, []],
        metavar="NAME",
        help=f"{', '.join(NAMES)}; default: all. Only when named: {', '.join(LONG)}",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a benchmark, one a line")
    options = parser.parse_args()
    for name in options.names or NAMES:
        result = importlib.import_module(f"benchmarks.{name}").run()
        if options.json:
            print(json.dumps(result, sort_keys=True), flush=True)
        elif "not_run" in result:
            print(f"{name:8} not run: {result['not_run']}", flush=True)
        else:
            verdict = "met" if result["met"] else "MISSED"
            print(
                f"{name:8} ours {result['ours']}  reference {result['reference']}  ratio {result['ratio']}"
                f"  goal {result['goal']}  {verdict}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
