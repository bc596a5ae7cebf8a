#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two builds side by side: each tunes the networks with a profile cache of its own, in turns, then
their tuned files run in turns, each time in a process of its own: time of a run, and from the start
of the command to the end of one run (loading, planning, the first output). Ratios above 1: `build`
is faster than `other`.

    python builds.py --build ../../build/release --other OLD/build/release --work /tmp/builds \\
        --net resnet50 mobilenet_v2 --tunings 3

Prints Markdown. Only the command line is used, so that the other build may be an old one.
"""

from __future__ import annotations

import json
import pathlib
import random
import statistics
import subprocess
import sys
import time

import nets
import report
import rounds


def call(build: pathlib.Path, *arguments: str) -> tuple[str, float]:
    """What the build's command prints, and its seconds."""
    begin = time.perf_counter()
    done = subprocess.run(
        [str(build / "bin" / "softneuro"), *arguments],
        check=True,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout, time.perf_counter() - begin


def bench(build: pathlib.Path, file: pathlib.Path, threads: int, seconds: float) -> dict:
    arguments = ["--threads", str(threads), "--seconds", str(seconds), "--json"]
    printed, elapsed = call(build, "bench", str(file), *arguments)
    return {"start_ms": elapsed * 1e3, **json.loads(printed)}


def compare(net: str, folders: nets.Folders, builds: dict, arguments) -> list[str]:
    model = folders.model(net)
    tuned, seconds = {}, {name: [] for name in builds}
    for index in range(arguments.tunings):
        for name, build in builds.items():
            file = folders.work / f"{net}-{name}-{index}.dnn"
            cache = folders.work / f"cache-{net}-{name}-{index}"
            options = ["--schemas", "cpu:float32", "--threads", str(arguments.threads)]
            tune = ["tune", str(model), "-o", str(file), "--cache", str(cache), *options]
            seconds[name].append(call(build, *tune)[1])
            tuned[name, index] = file
    ms: dict[str, list[float]] = {name: [] for name in builds}
    starts: dict[str, list[float]] = {name: [] for name in builds}
    for _ in range(arguments.rounds):
        for index in range(arguments.tunings):
            for name in random.sample(list(builds), len(builds)):
                file = tuned[name, index]
                ms[name].append(bench(builds[name], file, arguments.threads, 0.5)["median_ms"])
                starts[name].append(bench(builds[name], file, arguments.threads, 0)["start_ms"])
    row = [net]
    for values in (ms, starts):
        row += [f"{statistics.median(v):.4g} / {min(v):.4g}" for v in values.values()]
        row.append(report.interval(rounds.ratio_with_interval(values["other"], values["build"])))
    row += [f"{statistics.mean(v):.1f}" for v in seconds.values()]
    return row


def main() -> int:
    parser = nets.parser_for(__doc__)
    nets.add_models(parser)
    parser.add_argument("--other", type=pathlib.Path, required=True, help="the other build folder")
    parser.add_argument("--net", nargs="+", default=nets.ALL_NETS, help="default: all")
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--tunings", type=int, default=1, help="of each build (default: 1)")
    parser.add_argument("--rounds", type=int, default=12, help="default: 12")
    arguments = parser.parse_args()
    folders = nets.folders_of(arguments)
    builds = {"build": folders.build, "other": arguments.other.resolve()}
    titles = ["net", "build, ms", "other, ms", "other / build", "start, ms", "other's start"]
    titles += ["other / build", "tuning, s", "other's tuning"]
    rows = []
    for net in arguments.net:
        rows.append(compare(net, folders, builds, arguments))
        print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    print(report.table(titles, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
