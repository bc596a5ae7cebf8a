#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the error limit of tuning holds on pictures that tuning has not seen, and what it costs.

    python limit.py --build ../../build/release --work /tmp/limit --splits 60

Gives tuning 100 pictures of models/shapes, drawn anew for each split, with limits around the error
of qint8 (0.008), and compares the tuned plan with untuned float32 on the other 300. Prints Markdown.
"Rounding" are plans whose outputs are not float32's.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import shutil
import sys

import nets
import numpy as np
import report
import rounds
import shapes_net
import softneuro_c

SCHEMAS = ("cpu:qint8", "cpu:float32:nchw8c,cpu:qint8", "cpu")
LIMITS = (0.05, 0.03, 0.02, 0.01, 0.005, 0.002)
FLOAT32 = 1e-5  # errors of routines that only add up in another order


@dataclasses.dataclass
class Tuning:
    split: int
    schemas: str
    limit: float
    held_back: float  # error on the pictures held back
    unseen: float
    qint8_share: float
    time_us: float


def draw(split: int, work: pathlib.Path) -> tuple[pathlib.Path, np.ndarray]:
    """A folder of samples, and the pictures that are not among them."""
    order = np.random.default_rng(split).permutation(len(shapes_net.pictures()))
    pictures = shapes_net.pictures()[order]
    given, others = pictures[: shapes_net.GIVEN, None], pictures[shapes_net.GIVEN :]
    return shapes_net.write_samples(work / "samples", given), others


def outputs_of(
    library: softneuro_c.Library, file: pathlib.Path, pictures: np.ndarray
) -> np.ndarray:
    buffer = {shapes_net.INPUT: pictures[:1].copy()}
    session = softneuro_c.Session(library, file, 1, buffer)
    outputs = []
    for picture in pictures:
        buffer[shapes_net.INPUT][0] = picture
        session.run()
        outputs.append(session.outputs()[0])
    session.close()
    return np.concatenate(outputs)


def measure_split(
    folders: nets.Folders, library: softneuro_c.Library, split: int, work: pathlib.Path
) -> list[Tuning]:
    samples, others = draw(split, work)
    reference = outputs_of(library, shapes_net.MODEL, others)
    file = work / "tuned.dnn"
    shutil.rmtree(work / "cache", ignore_errors=True)

    def tune(schemas: str, *options: str) -> dict:
        command = ["tune", str(shapes_net.MODEL), "-o", str(file), "--schemas", schemas]
        command += ["--threads", "1", "--cache", str(work / "cache")]
        return nets.run_tool(folders, *command, "--calibration", str(samples), *options)

    tunings = []
    for schemas in SCHEMAS:
        for limit in LIMITS:
            told = tune(schemas, "--max-error", str(limit))
            unseen = rounds.difference([outputs_of(library, file, others)], [reference])["rms"]
            tunings.append(
                Tuning(
                    split=split,
                    schemas=schemas,
                    limit=limit,
                    held_back=told["error"],
                    unseen=unseen,
                    qint8_share=told["qint8_share"],
                    time_us=1e3 * told["tuned_ms"],
                )
            )
    return tunings


def row(schemas: str, limit: float, tunings: list[Tuning]) -> list[str]:
    rounding = [t for t in tunings if t.unseen > FLOAT32]
    ratios = [t.unseen / limit for t in rounding]
    return [
        f"`{schemas}`",
        f"{limit}",
        f"{len(rounding)} of {len(tunings)}",
        f"{sum(ratio > 1 for ratio in ratios)}",
        f"{np.median(ratios):.2f} / {max(ratios):.2f}" if ratios else "–",
        f"{100 * np.mean([t.qint8_share for t in tunings]):.0f} %",
        f"{np.median([t.time_us for t in tunings]):.0f}",
    ]


def main() -> int:
    parser = nets.parser_for(__doc__)
    parser.add_argument("--splits", type=int, default=20, help="default: 20")
    parser.add_argument("--json", type=pathlib.Path, help="every tuning")
    arguments = parser.parse_args()
    work = arguments.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    folders = nets.Folders(arguments.build.resolve(), work, work)
    library = softneuro_c.Library(folders.build / "lib")
    tunings: list[Tuning] = []
    for split in range(arguments.splits):
        tunings += measure_split(folders, library, split, work)
        broken = sum(t.unseen > t.limit for t in tunings)
        print(f"split {split}: {len(tunings)} tunings, {broken} broken", file=sys.stderr)
        if arguments.json:
            arguments.json.write_text(json.dumps([dataclasses.asdict(t) for t in tunings]))
    titles = ["schemas", "limit", "rounding", "broken"]
    titles += ["unseen / limit, median / most", "MACs in qint8", "µs"]
    rows = [
        row(schemas, limit, [t for t in tunings if (t.schemas, t.limit) == (schemas, limit)])
        for schemas in SCHEMAS
        for limit in LIMITS
    ]
    rounding = [t for t in tunings if t.unseen > FLOAT32]
    print(report.table(titles, rows))
    print(
        f"{len(tunings)} tunings of {arguments.splits} splits, {len(rounding)} of them to plans "
        f"that round: {sum(t.unseen > t.limit for t in rounding)} break the limit."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
