#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an error limit costs: does it hold, how much stays in 8 bits, how near are plans of one limit?

    python limit.py --build ../../build/release --work /tmp/limit --splits 20
    python limit.py … --model mobilenet.onnx --samples folder

For each split the samples (default: 100 pictures of models/shapes) are shuffled; four of five are
for calibration, the others for validation. "cost" is the error of the net all in qint8 there. It is
tuned with limits around that; the error on the validation samples is measured again from outside.
The tuned files of one limit are then timed in turns. With --brute-force, the plan found is compared
with the fastest that meets the limit among all that take layers out of 8 bits in the order of their
sensitivity, and in the order of time saved per sensitivity. Prints Markdown.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import random
import shutil
import sys

import nets
import numpy as np
import report
import rounds
import shapes_net
import softneuro_c

SCHEMAS = "cpu:float32,cpu:qint8"
LIMITS = (0.5, 1.0, 2.0, 6.0)  # times the error of qint8 alone
SECONDS = "0.15"  # that a plan runs in a round
SLACK = 1.001  # of the limit: references are computed by another session
ROUNDED_UP = 1 + 1e-6  # so that what is printed with nine digits holds itself


@dataclasses.dataclass
class Tuning:
    split: int
    share: float  # of LIMITS
    limit: float
    told: float  # the error that tuning reports
    error: float  # the same, measured from outside
    qint8_share: float
    seconds: float
    file: str
    brute_force: str = ""  # file of the fastest plan that brute force finds


@dataclasses.dataclass
class Prefix:
    """A plan with the first layers of an order in 8 bits."""

    error: float
    ms: float
    file: str


class Experiment:
    def __init__(self, arguments) -> None:
        self.work = arguments.work.resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.drawn = self.work / "drawn"
        self.folders = nets.Folders(arguments.build.resolve(), self.work, self.work)
        self.library = softneuro_c.Library(self.folders.build / "lib")
        self.model, self.threads = arguments.model.resolve(), arguments.threads
        self.samples = sorted(p for p in arguments.samples.iterdir() if p.is_dir())

    def draw(self, split: int) -> None:
        """Two folders of links."""
        order = np.random.default_rng(split).permutation(len(self.samples))
        given = len(self.samples) * 4 // 5
        for kind, part in (("calibration", order[:given]), ("validation", order[given:])):
            folder = self.drawn / kind
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for place, index in enumerate(part):
                (folder / f"{place:04}").symlink_to(self.samples[index].resolve())

    def tune(self, file: pathlib.Path, schemas: str, limit: str, *more: str) -> dict:
        return nets.run_tool(
            self.folders,
            *["tune", str(self.model), "-o", str(file), "--schemas", schemas],
            *["--threads", str(self.threads), "--cache", str(self.work / "cache")],
            *["--calibration", str(self.drawn / "calibration")],
            *["--validation", str(self.drawn / "validation"), "--max-error", limit],
            *more,
        )

    def inputs(self, sample: pathlib.Path) -> dict[str, np.ndarray]:
        return {file.stem: np.load(file) for file in sorted(sample.glob("*.npy"))}

    def outputs(self, file: pathlib.Path) -> list[list[np.ndarray]]:
        """Of each validation sample."""
        samples = sorted((self.drawn / "validation").iterdir())
        buffers = {name: value.copy() for name, value in self.inputs(samples[0]).items()}
        session = softneuro_c.Session(self.library, file, self.threads, buffers)
        given = []
        for sample in samples:
            for name, value in self.inputs(sample).items():
                buffers[name][...] = value
            session.run()
            given.append([output.copy() for output in session.outputs()])
        session.close()
        return given

    def error(self, file: pathlib.Path, reference: list[list[np.ndarray]]) -> float:
        joined = [
            [np.concatenate([sample[o].ravel() for sample in run]) for o in range(len(run[0]))]
            for run in (self.outputs(file), reference)
        ]
        return rounds.difference(*joined)["rms"]

    def prefixes(self, split: int) -> list[Prefix]:
        """Every number of layers in 8 bits, in both orders."""
        rows = self.tune(self.work / "rows.dnn", SCHEMAS, "none", "--sensitivity")["sensitivity"]
        orders = (
            sorted(rows, key=lambda row: row["net_error"]),
            sorted(rows, key=lambda row: -row["saved_us"] / max(row["net_error"], 1e-30) ** 2),
        )
        found = []
        for which, order in enumerate(orders):
            for count in range(len(order) + 1):
                file = self.work / f"{split}-order{which}-{count}.dnn"
                pins = [f"--pin={row['layer']}=cpu:qint8*" for row in order[:count]]
                tuned = self.tune(file, "cpu:float32", "none", *pins)
                found.append(Prefix(tuned["error"], tuned["tuned_ms"], str(file)))
        return found

    def measure_split(self, split: int, brute_force: bool) -> list[Tuning]:
        self.draw(split)
        reference = self.outputs(self.model)
        cost = self.tune(self.work / "qint8.dnn", "cpu:qint8", "none")["error"]
        tunings = []
        for share in LIMITS:
            file = self.work / f"{split}-{share}.dnn"
            tuned = self.tune(file, SCHEMAS, f"{share * cost * ROUNDED_UP:.9g}")
            tunings.append(
                Tuning(
                    split=split,
                    share=share,
                    limit=share * cost,
                    told=tuned["error"],
                    error=self.error(file, reference),
                    qint8_share=tuned["qint8_share"],
                    seconds=tuned["seconds"],
                    file=str(file),
                )
            )
        if brute_force:
            found = sorted(self.prefixes(split), key=lambda prefix: prefix.ms)
            for t in tunings:
                t.brute_force = next(p.file for p in found if p.error <= t.limit * ROUNDED_UP)
        return tunings

    def times(self, files: list[str], count: int) -> list[float]:
        """Ms of each file: the lower quartile of medians, in turns, each in a process of its own."""
        times: dict[str, list[float]] = {file: [] for file in files}
        for index in range(count):
            for file in random.Random(index).sample(files, len(files)):
                command = ["bench", file, "--threads", str(self.threads), "--seconds", SECONDS]
                times[file].append(nets.run_tool(self.folders, *command)["median_ms"])
        return [float(np.percentile(times[file], 25)) for file in files]


def row(share: float, tunings: list[Tuning], times: list[float], brute: list[float]) -> list[str]:
    compared = [a / b for a, b in zip(times, brute)] if brute else []
    return [
        f"{share} × cost",
        f"{sum(t.error > t.limit * SLACK for t in tunings)} of {len(tunings)}",
        f"{np.median([t.error / t.limit for t in tunings]):.2f}",
        f"{sum(t.qint8_share > 0 for t in tunings)} of {len(tunings)}",
        f"{100 * np.median([t.qint8_share for t in tunings]):.0f} %",
        f"{np.median(times):.4g}",
        f"{100 * (max(times) / min(times) - 1):.1f} %",
        f"{np.median([t.seconds for t in tunings]):.1f}",
        f"{np.median(compared):.3f}, {max(compared):.3f}" if compared else "",
    ]


def main() -> int:
    parser = nets.parser_for(__doc__)
    parser.add_argument("--splits", type=int, default=20, help="default: 20")
    parser.add_argument("--model", type=pathlib.Path, default=shapes_net.MODEL)
    parser.add_argument("--samples", type=pathlib.Path, help="a folder for each, of NAME.npy")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7, help="default: 7")
    parser.add_argument("--brute-force", action="store_true", help="see above; minutes a split")
    parser.add_argument("--json", type=pathlib.Path, help="every tuning")
    arguments = parser.parse_args()
    if arguments.samples is None:
        arguments.samples = shapes_net.calibration(arguments.work)
    experiment = Experiment(arguments)
    tunings: list[Tuning] = []
    for split in range(arguments.splits):
        tunings += experiment.measure_split(split, arguments.brute_force)
        print(f"split {split}: {len(tunings)} tunings", file=sys.stderr)
        if arguments.json:
            arguments.json.write_text(json.dumps([dataclasses.asdict(t) for t in tunings]))
    titles = ["limit", "broken", "error / limit", "with 8 bits", "MACs in qint8", "ms"]
    titles += ["slowest / fastest", "s to tune", "found / brute force: median, most"]
    rows = []
    for share in LIMITS:
        some = [t for t in tunings if t.share == share]
        files = [t.file for t in some] + [t.brute_force for t in some if t.brute_force]
        times = experiment.times(files, arguments.rounds)
        rows.append(row(share, some, times[: len(some)], times[len(some) :]))
    print(report.table(titles, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
