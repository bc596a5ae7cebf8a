#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shipped trained model in 8 bits: speed, share of qint8, error and accuracy.

    python hybrid.py --build ../../build/release --work /tmp/hybrid --threads 1

Tunes float32, qint8 and hybrid plans with the first 100 pictures of models/shapes, runs them in
turns, and judges them on the other 300. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys

import nets
import numpy as np
import report
import rounds
import shapes_net
import softneuro_c

COLUMNS = {
    "float32": "cpu:float32",
    "qint8": "cpu:qint8",
    "hybrid": "cpu:float32,cpu:float16,cpu:qint8",
}


def tune(arguments: argparse.Namespace, column: str, file: pathlib.Path) -> dict:
    """The tool's report."""
    folders = nets.Folders(arguments.build, arguments.work, arguments.work)
    command = ["tune", str(shapes_net.MODEL), "-o", str(file), "--schemas", COLUMNS[column]]
    command += ["--threads", str(arguments.threads), "--cache", str(arguments.work / "cache")]
    command += ["--shape", f"{shapes_net.INPUT}={arguments.batch}x3x32x32"]
    samples = shapes_net.calibration(arguments.work)
    if arguments.batch > 1:
        samples = batches(samples, arguments.batch)
    command += ["--calibration", str(samples)]
    if column != "float32":
        command += ["--max-error", str(arguments.max_error or "none")]
    return nets.run_tool(folders, *command)


def batches(folder: pathlib.Path, batch: int) -> pathlib.Path:
    """The same samples, `batch` pictures in each."""
    given = shapes_net.pictures()[: shapes_net.GIVEN]
    count = len(given) // batch
    batched = given[: count * batch].reshape(count, batch, *given.shape[1:])
    return shapes_net.write_samples(folder.with_name(f"shapes-{batch}"), batched)


def measure(
    library: pathlib.Path, files: dict[str, str], threads: int, batch: int, count: int
) -> dict[str, dict]:
    """Bursts in turns, and outputs for the pictures that tuning was not given. In a process of its
    own. "untuned" is the model itself."""
    rounds.use_processors(threads)
    loaded = softneuro_c.Library(library)
    others = shapes_net.pictures()[shapes_net.GIVEN :]
    buffer = {shapes_net.INPUT: others[:batch].copy()}
    sessions = {
        name: softneuro_c.Session(loaded, pathlib.Path(file), threads, buffer)
        for name, file in files.items()
    }
    outputs: dict[str, list[np.ndarray]] = {name: [] for name in files}
    for begin in range(0, len(others) - batch + 1, batch):
        buffer[shapes_net.INPUT][:] = others[begin : begin + batch]
        for name, session in sessions.items():
            session.run()
            outputs[name].append(session.outputs()[0])
    bursts = rounds.take_turns({name: s.run for name, s in sessions.items()}, count)
    return {
        name: {"bursts_ms": bursts[name], "outputs": np.concatenate(outputs[name])}
        for name in files
    }


def table(
    arguments: argparse.Namespace, reports: dict[str, dict], measured: dict[str, dict]
) -> str:
    reference = measured["untuned"]["outputs"]
    right = shapes_net.labels()[shapes_net.GIVEN :][: len(reference)]
    rows = []
    for name, entry in measured.items():
        outputs, bursts = entry["outputs"], entry["bursts_ms"]
        ratio = rounds.ratio_with_interval(bursts, measured["float32"]["bursts_ms"])
        rows.append(
            [
                name,
                f"{1e3 * statistics.median(bursts):.1f} / {1e3 * min(bursts):.1f}",
                report.interval(list(ratio)),
                f"{100 * reports[name]['qint8_share']:.1f} %" if name in reports else "–",
                f"{reports[name]['error']:.4f}" if name in reports else "–",
                f"{rounds.difference([outputs], [reference])['rms']:.4f}",
                f"{100 * float(np.mean(outputs.argmax(axis=1) == right)):.2f} %",
            ]
        )
    titles = ["plan", "µs", "/ float32", "MACs in qint8", "error, held back", "unseen", "right"]
    return (
        f"models/shapes, batch {arguments.batch}, {arguments.threads} threads, {arguments.rounds} "
        "rounds: median / minimum µs, the ratio of times with its 95 % interval; RMS error against "
        "untuned float32 on the pictures held back, and on those that tuning was not given, of "
        "which *right* is the share with the right class.\n\n" + report.table(titles, rows)
    )


def main() -> int:
    parser = nets.parser_for(__doc__)
    parser.add_argument("--threads", type=int, default=1, help="default: 1")
    parser.add_argument("--batch", type=int, default=1, help="pictures per run; default: 1")
    parser.add_argument("--max-error", type=float, default=0, help="default: no limit")
    parser.add_argument("--rounds", type=int, default=rounds.FEWEST_ROUNDS, help="default: 31")
    parser.add_argument("--json", type=pathlib.Path, help="every burst, and the reports of the tunings")
    arguments = parser.parse_args()
    arguments.build, arguments.work = arguments.build.resolve(), arguments.work.resolve()
    arguments.work.mkdir(parents=True, exist_ok=True)
    files, reports = {"untuned": str(shapes_net.MODEL)}, {}
    for column in COLUMNS:
        file = arguments.work / f"{column}.dnn"
        reports[column] = tune(arguments, column, file)
        files[column] = str(file)
    measured = rounds.in_own_process(
        measure,
        arguments.build / "lib",
        files,
        arguments.threads,
        arguments.batch,
        arguments.rounds,
    )
    print(table(arguments, reports, measured))
    if arguments.json:
        bursts = {name: entry["bursts_ms"] for name, entry in measured.items()}
        arguments.json.write_text(
            json.dumps({"reports": reports, "bursts_ms": bursts}, indent=1) + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
