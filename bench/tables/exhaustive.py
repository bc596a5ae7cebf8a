#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tuner's short cuts cost: tunes networks as usual, and again with every candidate profiled
to the end, more rounds and more finalists (`tune --exhaustive`), each with an empty profile cache;
then runs both plans side by side, in turns, in several processes.

    python exhaustive.py --build ../../build/release --work /tmp/exhaustive --threads 2 \
        --nets resnet50,mobilenet_v2,squeezenet1_1

Prints Markdown.
"""

from __future__ import annotations

import argparse
import pathlib
import shutil
import sys
import time

import nets
import report
import rounds
import stability

MODES = {"usual": [], "exhaustive": ["--exhaustive"]}


def tune(folders: nets.Folders, net: str, mode: str, threads: int) -> tuple[pathlib.Path, float, int]:
    """The file, the seconds it took, and how much was measured."""
    cache, made = folders.work / "cache", folders.work / f"{net}-{mode}.dnn"
    shutil.rmtree(cache, ignore_errors=True)
    command = ["tune", str(folders.model(net)), "-o", str(made), "--cache", str(cache)]
    command += ["--schemas", "cpu:float32", "--threads", str(threads), *MODES[mode]]
    began = time.perf_counter()
    result = nets.run_tool(folders, *command)
    return made, time.perf_counter() - began, result["measured"]


def row_of(folders: nets.Folders, net: str, arguments: argparse.Namespace) -> list[str]:
    threads = arguments.threads
    files, row = {}, [net]
    for mode in MODES:
        print(f"{net}: {mode}", file=sys.stderr, flush=True)
        file, seconds, measured = tune(folders, net, mode, threads)
        files[mode] = str(file)
        row.append(f"{seconds:.1f} s, {measured}")
    bursts = rounds.in_processes(
        arguments.processes,
        stability.measure,
        list(MODES),
        folders.library,
        files,
        nets.inputs_for(net, 11)[0],
        threads,
        arguments.rounds,
    )
    ratio = rounds.ratio_over_processes(bursts["usual"], bursts["exhaustive"])
    times = [f"{stability.median_ms(bursts[mode]):.3f}" for mode in MODES]
    return [*row, *times, report.interval(list(ratio))]


def main() -> int:
    parser = nets.parser_for(__doc__)
    nets.add_models(parser)
    parser.add_argument("--nets", default="squeezenet1_1", help="default: squeezenet1_1")
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--processes", type=int, default=24, help="that run both; default: 24")
    parser.add_argument("--rounds", type=int, default=16, help="in each process; default: 16")
    arguments = parser.parse_args()
    folders = nets.folders_of(arguments)
    rows = [row_of(folders, net, arguments) for net in arguments.nets.split(",")]
    titles = ["net", "usual: time, measured", "exhaustive: time, measured", "usual, ms",
              "exhaustive, ms", "usual / exhaustive"]  # fmt: skip
    print(report.table(titles, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
