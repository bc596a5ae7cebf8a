#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether tuning finds the same thing each time: tunes networks again and again, each time with an
empty profile cache, first alone and then beside a process that keeps a processor and the memory
busy; afterwards runs the plans that were chosen in turns, each time in a process of its own, on a
machine that is quiet again. (Plans that take turns in one process find the caches full of each
other's weights: that favours those with small ones.)

    python stability.py --build ../../build/release --work /tmp/stability --net resnet50 shapes \
        --threads 2

Prints Markdown: how often the plan changed, and the true time of the chosen plans over the best
one. `--net shapes` is the shipped model, `NAME.onnx` any model whose types need no calibration, all
others are the generator's.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import statistics
import sys
from collections.abc import Iterator

import nets
import numpy as np
import report
import rounds
import shapes_net

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # of the neighbour, which takes one processor

LOADS = ("quiet", "busy neighbour")
SECONDS = "0.5"  # that a plan runs in a round


@dataclasses.dataclass
class Tuning:
    """One call of `softneuro tune`."""

    load: str
    plan: str  # number of the plan among the distinct ones
    seconds: float
    measured: int
    layers: list[dict]


def keep_busy(parent: int) -> None:
    """A neighbour: products of matrices, and passes over more memory than caches hold. It ends
    with its parent, even where that one was killed."""
    matrix = np.random.default_rng(0).random((384, 384), dtype=np.float32)
    memory = np.zeros(1 << 24, np.float32)
    while os.getppid() == parent:
        for _ in range(8):
            matrix = matrix @ matrix
            matrix /= np.abs(matrix).max()
        memory += 1


@contextlib.contextmanager
def neighbour(load: str) -> Iterator[None]:
    if load == "quiet":
        yield
        return
    process = multiprocessing.get_context("spawn").Process(
        target=keep_busy, args=(os.getpid(),), daemon=True
    )
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


class Stability:
    def __init__(self, net: str, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.folders = nets.folders_of(arguments)
        self.is_shapes = net == "shapes"
        self.net = net
        self.input: dict[str, np.ndarray] = {}
        if net.endswith(".onnx"):  # with shapes that the tool finds by itself
            self.model = pathlib.Path(net)
            self.net = self.model.parent.name if self.model.stem == "model" else self.model.stem
        elif self.is_shapes:
            self.model = shapes_net.MODEL
            self.input = {shapes_net.INPUT: shapes_net.pictures()[:1]}
        else:
            self.model = self.folders.model(net)
            self.input = nets.inputs_for(net, 11)[0]
        self.plans: dict[str, str] = {}  # what a plan chooses → its number
        self.tunings: list[Tuning] = []

    def tune_all(self) -> None:
        for load in LOADS:
            with neighbour(load):
                for index in range(self.arguments.tunings):
                    self.tunings.append(self.tune(load))
                    print_line(f"{self.net}, {load} {index + 1}: plan {self.tunings[-1].plan}")

    def tune(self, load: str) -> Tuning:
        arguments = self.arguments
        cache, made = arguments.work / "cache", arguments.work / "tuned.dnn"
        shutil.rmtree(cache, ignore_errors=True)
        command = ["tune", str(self.model), "-o", str(made), "--cache", str(cache)]
        command += ["--schemas", arguments.schemas, "--threads", str(arguments.threads)]
        for name, value in self.input.items():
            command += ["--shape", f"{name}={'x'.join(map(str, value.shape))}"]
        if any(text in arguments.schemas.split(",") for text in ("cpu", "cpu:qint8")):
            samples = (
                shapes_net.calibration(arguments.work)
                if self.is_shapes
                else self.folders.calibration(self.net)
            )
            command += ["--calibration", str(samples)]
        result = nets.run_tool(self.folders, *command)
        chosen = [
            [row[key] for key in ("layer", "routine", "params", "formats")]
            for row in result["layers"]
        ]
        text = json.dumps(chosen)
        number = self.plans.setdefault(text, str(len(self.plans) + 1))
        made.replace(self.plan_file(number))
        return Tuning(load, number, result["seconds"], result["measured"], result["layers"])

    def plan_file(self, number: str) -> pathlib.Path:
        return self.arguments.work / f"{self.net}-{number}.dnn"

    def changed_layers(self) -> list[list[str]]:
        """Layers for which not always the same was chosen, with the number of different choices."""
        choices: dict[str, dict[str, int]] = {}
        for tuning in self.tunings:
            for row in tuning.layers:
                if row["type"] == "adapt":
                    continue
                text = f"{row['routine']} {row['params']}".strip()
                counts = choices.setdefault(row["layer"], {})
                counts[text] = counts.get(text, 0) + 1
        rows = []
        for layer, counts in choices.items():
            if len(counts) > 1:
                ordered = sorted(counts.items(), key=lambda item: -item[1])
                listed = ", ".join(f"`{text}` {count}×" for text, count in ordered[:4])
                rows.append([layer, str(len(counts)), listed])
        return sorted(rows, key=lambda row: -int(row[1]))[: self.arguments.most_layers]


    def times(self) -> dict[str, list[float]]:
        """Median ms of each plan, in each round."""
        plans = list(self.plans.values())
        times: dict[str, list[float]] = {plan: [] for plan in plans}
        for index in range(self.arguments.rounds):
            random.Random(index).shuffle(plans)
            for plan in plans:
                file, threads = str(self.plan_file(plan)), str(self.arguments.threads)
                command = ["bench", file, "--threads", threads, "--seconds", SECONDS]
                times[plan].append(nets.run_tool(self.folders, *command)["median_ms"])
        return times


def fastest(times: dict[str, list[float]]) -> str:
    """By its times in relation to all plans' in the same rounds: the machine's speed changes."""
    all_plans = np.asarray(list(times.values()))  # plan, round
    return list(times)[int(np.argmin(np.median(all_plans / np.median(all_plans, axis=0), axis=1)))]


def best_times(times: dict[str, list[float]]) -> list[float]:
    """Of the fastest plan in each round, by the rounds of the other half: by all of them it would
    be a lucky one, too."""
    count = len(next(iter(times.values())))
    best = []
    for index in range(count):
        others = range(1 - index % 2, count, 2)
        plan = fastest({plan: [values[r] for r in others] for plan, values in times.items()})
        best.append(times[plan][index])
    return best


def rows_of(stability: Stability, times: dict[str, list[float]]) -> list[list[str]]:
    best = best_times(times)
    loss = {plan: rounds.ratio_with_interval(times[plan], best) for plan in times}
    rows = []
    for load in LOADS:
        tunings = [tuning for tuning in stability.tunings if tuning.load == load]
        plans = [tuning.plan for tuning in tunings]
        losses = [loss[plan][0] for plan in plans]
        worst = max(plans, key=lambda plan: loss[plan][0])
        rows.append(
            [
                f"{stability.net}, {load}",
                f"{statistics.median(best):.3f}",
                f"{len(set(plans))} of {len(plans)}",
                f"{sum(loss[plan][1] <= 1 for plan in plans)}",
                f"{statistics.median(losses):.3f}",
                f"{np.percentile(losses, 95):.3f}",
                report.interval(list(loss[worst])),
                f"{statistics.median(tuning.seconds for tuning in tunings):.2f}",
            ]
        )
    return rows


TITLES = ["net, machine", "best, ms", "plans", "like the best"]
TITLES += ["median", "95 %", "worst", "s each"]
EXPLANATION = (
    "*Best*: the plan that was fastest in the rounds of the other half. "
    "*Like the best*: tunings whose plan the noise cannot tell from it (95 % interval). "
    "*Median*, *95 %*, *worst*: of the time of the chosen plans over the best one's, over tunings, "
    "the worst with its 95 % interval.\n"
)


def print_line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def parsed_arguments() -> argparse.Namespace:
    parser = nets.parser_for(__doc__)
    nets.add_models(parser)
    parser.add_argument("--net", nargs="+", default=["shapes"], help="default: shapes")
    parser.add_argument("--tunings", type=int, default=20, help="per load; default: 20")
    parser.add_argument("--threads", type=int, default=1, help="default: 1")
    parser.add_argument("--schemas", default="cpu:float32", help="default: cpu:float32")
    parser.add_argument("--rounds", type=int, default=12, help="default: 12")
    parser.add_argument("--most-layers", type=int, default=12, help="that changed; default: 12")
    parser.add_argument("--json", type=pathlib.Path, help="every tuning and time")
    arguments = parser.parse_args()
    arguments.work = arguments.work.resolve()
    return arguments


def main() -> int:
    arguments = parsed_arguments()
    rows: list[list[str]] = []
    changed: list[list[str]] = []
    record = {}
    for net in arguments.net:
        stability = Stability(net, arguments)
        stability.tune_all()
        times = stability.times()
        rows += rows_of(stability, times)
        print_line(report.table(TITLES, rows))
        changed += stability.changed_layers()
        record[net] = {
            "tunings": [dataclasses.asdict(tuning) for tuning in stability.tunings],
            "ms": times,
        }
        for plan in times:
            stability.plan_file(plan).unlink()
    print(f"{EXPLANATION}\n{report.table(TITLES, rows)}")
    if changed and arguments.most_layers > 0:
        print(report.table(["layer", "choices", "most often"], changed))
    if arguments.json:
        arguments.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
