#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long it takes from a tuned file to the first output: loads the network with all checksums
compared and with the structure checked only, plans it, runs it once; each time in a process of its
own, in turns, with the file in the page cache.

    python load.py --build ../../build/release --work /tmp/load --net resnet50 --threads 2

Prints Markdown.
"""

from __future__ import annotations

import pathlib
import statistics
import sys
import time

import nets
import numpy as np
import report
import rounds
import softneuro_c

VERIFY = {"full": softneuro_c.VERIFY_FULL, "structure": softneuro_c.VERIFY_STRUCTURE}


def once(
    library: pathlib.Path, file: str, inputs: dict[str, np.ndarray], threads: int, verify: int
) -> tuple[float, float]:
    """Ms for loading and planning, and for the first run."""
    rounds.use_processors(threads)
    loaded = softneuro_c.Library(library)
    begin = time.perf_counter()
    session = softneuro_c.Session(loaded, pathlib.Path(file), threads, inputs, verify)
    ready = time.perf_counter()
    session.run()
    return (ready - begin) * 1e3, (time.perf_counter() - ready) * 1e3


def main() -> int:
    parser = nets.parser_for(__doc__)
    nets.add_models(parser)
    parser.add_argument("--net", default="resnet50", help="default: resnet50")
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--rounds", type=int, default=15, help="default: 15")
    arguments = parser.parse_args()
    folders = nets.folders_of(arguments)
    files = {}
    for name, option in (("plain", []), ("packed", ["--packed"])):  # the second finds the cache full
        files[name] = folders.work / f"{arguments.net}-{name}.dnn"
        command = ["tune", str(folders.model(arguments.net)), "-o", str(files[name]), *option]
        command += ["--schemas", "cpu:float32", "--threads", str(arguments.threads)]
        nets.run_tool(folders, *command, "--cache", str(folders.work / "cache"))
    inputs = nets.inputs_for(arguments.net, 11)[0]
    times: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for index in range(-1, arguments.rounds):  # the first round fills the page cache
        for name, file in files.items():
            for verify, value in VERIFY.items():
                taken = rounds.in_own_process(
                    once, folders.library, str(file), inputs, arguments.threads, value
                )
                if index >= 0:
                    times.setdefault((name, verify), []).append(taken)
    rows = []
    for (name, verify), taken in times.items():
        parts = [[load for load, _ in taken], [run for _, run in taken], [sum(t) for t in taken]]
        size = f"{files[name].stat().st_size / 2**20:.0f}"
        cells = [f"{statistics.median(part):.1f} / {min(part):.1f}" for part in parts]
        rows.append([name, size, verify, *cells])
    titles = ["weights", "MiB", "verify", "load and plan, ms", "first run, ms", "together, ms"]
    print(f"{arguments.net}, {arguments.threads} threads; median / minimum of {arguments.rounds}:\n")
    print(report.table(titles, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
