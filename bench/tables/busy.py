#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether tuning ever makes slower: tunes networks beside busy processes, with short time limits
and an empty profile cache each time; afterwards, on a machine that is quiet again, runs each plan
that was saved and the untuned net in turns, each time in a process of its own.

    python busy.py --build ../../build/release --work /tmp/busy --net mobilenet_v2 resnet18 \
        --limits 0.5 1 2 --tunings 3 --busy 2 --threads 2

Prints Markdown: how many tunings kept the default plan, and the true time of the others over the
untuned net's.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import pathlib
import random
import shutil
import statistics
import sys

import nets
import report
import rounds
import stability

SECONDS = "0.3"  # that a plan runs in a round
UNTUNED = "untuned"


@dataclasses.dataclass
class Tuning:
    """One call of `softneuro tune`."""

    limit: str
    plan: str  # UNTUNED, or the number of the plan among the distinct ones
    seconds: float
    told_ms: tuple[float | None, float | None]  # untuned and tuned, by the report


class Net:
    def __init__(self, name: str, arguments: argparse.Namespace) -> None:
        self.name = name
        self.arguments = arguments
        self.folders = nets.folders_of(arguments)
        self.model = pathlib.Path(name) if name.endswith(".onnx") else self.folders.model(name)
        self.plans: dict[str, str] = {}  # what a plan chooses → its number
        self.tunings: list[Tuning] = []

    def plan_file(self, plan: str) -> pathlib.Path:
        return self.arguments.work / f"{self.model.stem}-{plan}.dnn"

    def tune(self, limit: str) -> None:
        arguments = self.arguments
        cache, made = arguments.work / "cache", arguments.work / "tuned.dnn"
        shutil.rmtree(cache, ignore_errors=True)
        command = ["tune", str(self.model), "-o", str(made), "--cache", str(cache)]
        command += ["--threads", str(arguments.threads)]
        if limit != "none":
            command += ["--time-limit", limit]
        result = nets.run_tool(self.folders, *command)
        reported = (result["untuned_ms"], result["tuned_ms"])
        plan = UNTUNED
        # 0: older builds, where it was not measured
        if reported[0] != reported[1] or reported[0] == 0:
            keys = ("layer", "routine", "params", "formats")
            text = json.dumps([[row[key] for key in keys] for row in result["layers"]])
            plan = self.plans.setdefault(text, str(len(self.plans) + 1))
            made.replace(self.plan_file(plan))
        self.tunings.append(Tuning(limit, plan, result["seconds"], reported))
        stability.print_line(
            f"{self.name}, {limit} s: {plan}, reported {reported}, {result['seconds']:.2f} s"
        )

    def tune_all(self) -> None:
        with contextlib.ExitStack() as stack:
            for _ in range(self.arguments.busy):
                stack.enter_context(stability.neighbour("busy"))
            for limit in self.arguments.limits:
                for _ in range(self.arguments.tunings):
                    self.tune(limit)

    def times(self) -> dict[str, list[float]]:
        """Median ms of each plan, in each round."""
        imported = self.plan_file(UNTUNED)
        if imported.exists():
            imported.unlink()
        nets.run_tool(self.folders, "import", str(self.model), "-o", str(imported))
        plans = [UNTUNED, *self.plans.values()]
        times: dict[str, list[float]] = {plan: [] for plan in plans}
        for index in range(self.arguments.rounds if len(plans) > 1 else 0):
            random.Random(index).shuffle(plans)
            for plan in plans:
                command = ["bench", str(self.plan_file(plan)), "--seconds", SECONDS]
                command += ["--threads", str(self.arguments.threads)]
                times[plan].append(nets.run_tool(self.folders, *command)["median_ms"])
        return times


TITLES = ["net", "limit, s", "tunings", "default plan kept", "median", "worst", "s, most"]
EXPLANATION = (
    "*Default plan kept*: tunings that found nothing faster in the time given. *Median*, *worst*: "
    "of the time of the saved plan over the untuned net's, measured on a quiet machine (1 where "
    "the default plan was kept), the worst with its 95 % interval.\n"
)


def rows_of(net: Net, times: dict[str, list[float]]) -> list[list[str]]:
    ratios = {UNTUNED: (1.0, 1.0, 1.0)}
    for plan in net.plans.values():
        ratios[plan] = rounds.ratio_with_interval(times[plan], times[UNTUNED])
    rows = []
    for limit in net.arguments.limits:
        tunings = [tuning for tuning in net.tunings if tuning.limit == limit]
        taken = [ratios[tuning.plan] for tuning in tunings]
        rows.append(
            [
                net.model.stem,
                limit,
                str(len(tunings)),
                str(sum(tuning.plan == UNTUNED for tuning in tunings)),
                f"{statistics.median(ratio for ratio, _, _ in taken):.3f}",
                report.interval(list(max(taken))),
                f"{max(tuning.seconds for tuning in tunings):.2f}",
            ]
        )
    return rows


def parsed_arguments() -> argparse.Namespace:
    parser = nets.parser_for(__doc__)
    nets.add_models(parser)
    parser.add_argument("--net", nargs="+", default=["mobilenet_v2"], help="or NAME.onnx")
    parser.add_argument("--limits", nargs="+", default=["0.5", "1", "2"], help="seconds, or none")
    parser.add_argument("--tunings", type=int, default=3, help="per limit; default: 3")
    parser.add_argument("--busy", type=int, default=2, help="processes; default: 2")
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--rounds", type=int, default=9, help="default: 9")
    parser.add_argument("--json", type=pathlib.Path, help="every tuning and time")
    arguments = parser.parse_args()
    arguments.work = arguments.work.resolve()
    return arguments


def main() -> int:
    arguments = parsed_arguments()
    rows: list[list[str]] = []
    record = {}
    for name in arguments.net:
        net = Net(name, arguments)
        net.tune_all()
        times = net.times()
        rows += rows_of(net, times)
        stability.print_line(report.table(TITLES, rows))
        record[name] = {
            "tunings": [dataclasses.asdict(tuning) for tuning in net.tunings],
            "ms": times,
        }
        for plan in times:
            net.plan_file(plan).unlink()
    print(f"{EXPLANATION}\n{report.table(TITLES, rows)}")
    if arguments.json:
        arguments.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
