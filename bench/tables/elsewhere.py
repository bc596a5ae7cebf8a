#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a tuned file is worth where its routines are missing: tunes networks on this machine with
all plugins, then runs the tuned file and the untuned net in turns, each time in a process of its
own, without plugins and with masked instruction sets (SOFTNEURO_MAX_ISA).

    python elsewhere.py --build ../../build/release --work /tmp/elsewhere --net mobilenet_v2 \
        --places plugins=none isa=avx2 isa=avx2,plugins=none --threads 2

Prints Markdown: the time of the tuned file over the untuned net's in each place. Tuned files that
are in WORK already are used again.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys

import nets
import report
import rounds
import stability

SECONDS = "0.3"  # that a file runs in a round
VARIABLES = {"plugins": "SOFTNEURO_PLUGINS", "isa": "SOFTNEURO_MAX_ISA"}


def environment_of(place: str) -> dict[str, str]:
    environment = dict(os.environ)
    for part in filter(None, place.split(",")):
        name, _, value = part.partition("=")
        environment[VARIABLES[name]] = value
    return environment


def bench(tool: pathlib.Path, file: pathlib.Path, place: str, threads: int) -> tuple[float, str]:
    """Median ms of a run, and what the log says."""
    command = [str(tool), "bench", str(file), "--threads", str(threads)]
    done = subprocess.run(
        [*command, "--seconds", SECONDS, "--json"],
        check=True,
        capture_output=True,
        text=True,
        env=environment_of(place),
    )
    return json.loads(done.stdout)["median_ms"], done.stderr.strip()


def files_of(net: str, folders: nets.Folders, threads: int) -> dict[str, pathlib.Path]:
    model = pathlib.Path(net) if net.endswith(".onnx") else folders.model(net)
    files = {kind: folders.work / f"{model.stem}-{kind}.dnn" for kind in ("untuned", "tuned")}
    if not files["untuned"].exists():
        nets.run_tool(folders, "import", str(model), "-o", str(files["untuned"]))
    if not files["tuned"].exists():
        command = ["tune", str(model), "-o", str(files["tuned"]), "--threads", str(threads)]
        nets.run_tool(folders, *command, "--no-cache")
    return files


def compare(
    tool: pathlib.Path, files: dict[str, pathlib.Path], place: str, arguments: argparse.Namespace
) -> list[str]:
    times: dict[str, list[float]] = {kind: [] for kind in files}
    printed = ""
    for _ in range(arguments.rounds):
        for kind in random.sample(list(files), len(files)):
            taken, log = bench(tool, files[kind], place, arguments.threads)
            times[kind].append(taken)
            printed = log if kind == "tuned" else printed
    stability.print_line(printed)
    ratio = rounds.ratio_with_interval(times["tuned"], times["untuned"])
    middle = {kind: statistics.median(values) for kind, values in times.items()}
    return [place or "here", f"{middle['untuned']:.3f}", f"{middle['tuned']:.3f}",
            report.interval(list(ratio))]


def parsed_arguments() -> argparse.Namespace:
    parser = nets.parser_for(__doc__)
    nets.add_models(parser)
    parser.add_argument("--net", nargs="+", default=["mobilenet_v2"], help="or NAME.onnx")
    parser.add_argument(
        "--places",
        nargs="+",
        default=["", "plugins=none", "isa=avx2", "isa=avx2,plugins=none"],
        help="what is missing; default: nothing, plugins, AVX-512, both",
    )
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--rounds", type=int, default=7, help="default: 7")
    return parser.parse_args()


def main() -> int:
    arguments = parsed_arguments()
    folders = nets.folders_of(arguments)
    rows = []
    titles = ["net", "place", "untuned, ms", "tuned file, ms", "tuned / untuned"]
    for net in arguments.net:
        files = files_of(net, folders, arguments.threads)
        for place in arguments.places:
            rows.append([pathlib.Path(net).stem, *compare(folders.tool, files, place, arguments)])
        stability.print_line(report.table(titles, rows))
    print(report.table(titles, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
