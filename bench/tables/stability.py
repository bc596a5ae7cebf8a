#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether tuning finds the same thing each time: tunes one network again and again, each time with
an empty profile cache, first alone and then beside a process that keeps a processor and the memory
busy; afterwards runs all the plans that were chosen side by side, in turns, on a machine that is
quiet again, in several processes.

    python stability.py --build ../../build/release --work /tmp/stability --net resnet50 --threads 2

Prints Markdown: how often the plan changed, and the true time of the chosen plans over the best
one. `--net shapes` is the shipped model, all others are the generator's.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import multiprocessing
import os
import pathlib
import shutil
import statistics
import sys
from collections.abc import Iterator

import nets
import numpy as np
import report
import rounds
import shapes_net
import softneuro_c

LOADS = ("quiet", "busy neighbour")
MOST_LOSS = 1.05  # of a plan's time over the best one's


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
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        work = arguments.work
        self.folders = nets.Folders(arguments.build, work / "models", work)
        self.is_shapes = arguments.net == "shapes"
        self.model = shapes_net.MODEL if self.is_shapes else self.folders.model(arguments.net)
        self.input = (
            {shapes_net.INPUT: shapes_net.pictures()[:1]}
            if self.is_shapes
            else nets.inputs_for(arguments.net, 11)[0]
        )
        self.plans: dict[str, str] = {}  # what a plan chooses → its number
        self.tunings: list[Tuning] = []

    def tune_all(self) -> None:
        for load in LOADS:
            with neighbour(load):
                for index in range(self.arguments.tunings):
                    self.tunings.append(self.tune(load))
                    say(f"{load} {index + 1}: plan {self.tunings[-1].plan}")

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
                else self.folders.calibration(arguments.net)
            )
            command += ["--calibration", str(samples)]
        answer = nets.run_tool(self.folders, *command)
        chosen = [
            [row[key] for key in ("layer", "routine", "params", "formats")]
            for row in answer["layers"]
        ]
        text = json.dumps(chosen)
        number = self.plans.setdefault(text, str(len(self.plans) + 1))
        made.replace(self.plan_file(number))
        return Tuning(load, number, answer["seconds"], answer["measured"], answer["layers"])

    def plan_file(self, number: str) -> pathlib.Path:
        return self.arguments.work / f"plan-{number}.dnn"

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


def measure(
    order: list[str],
    library: pathlib.Path,
    files: dict[str, str],
    inputs: dict[str, np.ndarray],
    threads: int,
    count: int,
) -> dict[str, list[float]]:
    """Bursts of each plan, in turns, loaded in this order. In a process of its own."""
    rounds.use_processors(threads)
    loaded = softneuro_c.Library(library)
    sessions = {
        name: softneuro_c.Session(loaded, pathlib.Path(files[name]), threads, inputs)
        for name in order
    }
    return rounds.take_turns({name: session.run for name, session in sessions.items()}, count)


def median_ms(bursts: list[list[float]]) -> float:
    return statistics.median(statistics.median(of_one) for of_one in bursts)


def fastest(bursts: dict[str, list[list[float]]]) -> str:
    """By its bursts in relation to all plans' in the same rounds: processes differ in speed."""
    all_plans = np.asarray(list(bursts.values()))  # plan, process, round
    shares = np.median(all_plans / np.median(all_plans, axis=0), axis=2)
    return list(bursts)[int(np.argmin(np.median(shares, axis=1)))]


def table(stability: Stability, bursts: dict[str, list[list[float]]]) -> str:
    best = fastest(bursts)
    loss = {name: rounds.ratio_over_processes(bursts[name], bursts[best]) for name in bursts}
    rows = []
    for load in LOADS:
        tunings = [tuning for tuning in stability.tunings if tuning.load == load]
        plans = [tuning.plan for tuning in tunings]
        changes = sum(a != b for a, b in zip(plans, plans[1:], strict=False))
        losses = [loss[plan][0] for plan in plans]
        worst = max(plans, key=lambda plan: loss[plan][0])
        rows.append(
            [
                load,
                str(len(plans)),
                str(len(set(plans))),
                str(changes),
                f"{statistics.median(losses):.3f}",
                report.interval(list(loss[worst])),
                f"{sum(loss[plan][2] <= MOST_LOSS for plan in plans)}",
                f"{statistics.median(tuning.seconds for tuning in tunings):.2f}",
            ]
        )
    titles = ["machine", "tunings", "plans", "changes", "median", "worst", "within 5 %", "s each"]
    arguments = stability.arguments
    text = (
        f"{arguments.net}, `--schemas {arguments.schemas}`, {arguments.threads} thread"
        f"{'s' if arguments.threads > 1 else ''}: {len(bursts)} plans, run side by side in "
        f"{arguments.processes} processes of {arguments.rounds} rounds; the best takes "
        f"{median_ms(bursts[best]):.3f} ms. "
        "*Changes*: how often a tuning chose another plan than the one before. *Median*, *worst*: "
        "true time of the chosen plans over the best one's, the worst with its 95 % interval. "
        "*Within 5 %*: tunings whose plan is, by the upper bound.\n\n" + report.table(titles, rows)
    )
    changed = stability.changed_layers()
    if changed:
        text += "\n" + report.table(["layer", "choices", "most often"], changed)
    return text


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def parsed_arguments() -> argparse.Namespace:
    parser = nets.parser_for(__doc__)
    parser.add_argument("--net", default="shapes", help="default: shapes")
    parser.add_argument("--tunings", type=int, default=20, help="per load; default: 20")
    parser.add_argument("--threads", type=int, default=1, help="default: 1")
    parser.add_argument("--schemas", default="cpu:float32", help="default: cpu:float32")
    parser.add_argument("--processes", type=int, default=12, help="that run them; default: 12")
    parser.add_argument("--rounds", type=int, default=12, help="in each process; default: 12")
    parser.add_argument("--most-layers", type=int, default=12, help="that changed; default: 12")
    parser.add_argument("--json", type=pathlib.Path, help="every tuning and burst")
    arguments = parser.parse_args()
    arguments.build, arguments.work = arguments.build.resolve(), arguments.work.resolve()
    arguments.work.mkdir(parents=True, exist_ok=True)
    return arguments


def main() -> int:
    arguments = parsed_arguments()
    stability = Stability(arguments)
    stability.tune_all()
    files = {number: str(stability.plan_file(number)) for number in stability.plans.values()}
    bursts = rounds.in_processes(
        arguments.processes,
        measure,
        list(files),
        stability.folders.library,
        files,
        stability.input,
        arguments.threads,
        arguments.rounds,
    )
    print(table(stability, bursts))
    if arguments.json:
        record = {
            "tunings": [dataclasses.asdict(tuning) for tuning in stability.tunings],
            "bursts_ms": bursts,
        }
        arguments.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
