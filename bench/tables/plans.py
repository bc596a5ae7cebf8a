#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long two builds take to plan the same tuned files: kernels are made and weights packed. Each
plan is made in a process of its own, in turns, with the file in the page cache; loading does not
count. Ratios below 1: `build` is faster than `other`, which tunes the files.

    python plans.py --build ../../build/release --other OLD/build/release --work /tmp/plans

Prints Markdown.
"""

from __future__ import annotations

import pathlib
import random
import statistics
import sys
import time

import nets
import numpy as np
import report
import rounds
import softneuro_c


def plan_ms(
    library: pathlib.Path, file: str, inputs: dict[str, np.ndarray], threads: int
) -> float:
    """Ms from a net that is loaded to a session."""
    rounds.use_processors(threads)
    loaded = softneuro_c.Library(library)
    moments: list[float] = []
    create = loaded.core.sn_session_create

    def timed(*arguments: object) -> int:
        moments.append(time.perf_counter())
        status = create(*arguments)
        moments.append(time.perf_counter())
        return status

    loaded.core.sn_session_create = timed
    softneuro_c.Session(loaded, pathlib.Path(file), threads, inputs)
    return (moments[1] - moments[0]) * 1e3


def compare(net: str, folders: nets.Folders, other: nets.Folders, arguments) -> list[float]:
    file = folders.work / f"{net}.dnn"
    if not file.exists():
        options = ["--schemas", "cpu:float32", "--threads", str(arguments.threads), "--no-cache"]
        nets.run_tool(other, "tune", str(folders.model(net)), "-o", str(file), *options)
    inputs = nets.inputs_for(net, 11)[0]
    ms: dict[pathlib.Path, list[float]] = {folders.library: [], other.library: []}
    for index in range(-1, arguments.rounds):  # the first round fills the page cache
        for library in random.Random(index).sample(list(ms), 2):
            taken = rounds.in_own_process(plan_ms, library, str(file), inputs, arguments.threads)
            if index >= 0:
                ms[library].append(taken)
    return [ms[folders.library], ms[other.library]]


def main() -> int:
    parser = nets.parser_for(__doc__)
    nets.add_models(parser)
    parser.add_argument("--other", type=pathlib.Path, required=True, help="the other build folder")
    parser.add_argument("--net", nargs="+", default=nets.ALL_NETS, help="default: all")
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--rounds", type=int, default=11, help="default: 11")
    arguments = parser.parse_args()
    folders = nets.folders_of(arguments)
    other = nets.Folders(arguments.other.resolve(), folders.models, folders.work)
    rows, ratios = [], []
    for net in arguments.net:
        new, old = compare(net, folders, other, arguments)
        ratios.append(statistics.median(new) / statistics.median(old))
        cells = [f"{statistics.median(ms):.2f} / {min(ms):.2f}" for ms in (new, old)]
        rows.append([net, *cells, report.interval(rounds.ratio_with_interval(new, old))])
        print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    print(report.table(["net", "build, ms", "other, ms", "build / other"], rows))
    print(f"\nGeometric mean of the medians' ratios: {statistics.geometric_mean(ratios):.3f}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
