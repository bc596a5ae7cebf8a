#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures nets on this machine's GPU, beside PyTorch where that is installed.

    python gpu_bench.py resnet50 --build ../../build/gpu --work /tmp/gpu

A part is one network of the generator, in each batch size and precision. It begins with what the GPU
moves and multiplies in a second, and ends within the seconds of --limit: what was not reached by then
is listed as such. Every row has the shares of cuDNN, cuBLASLt and own kernels, and the layers that
are farthest from the time in which the GPU could move their bytes and do their products.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tables"), str(HERE.parent / "generator")]

import numpy as np  # noqa: E402
import peers  # noqa: E402
import picture  # noqa: E402
import rounds  # noqa: E402
import softneuro_c  # noqa: E402
import shares  # noqa: E402

NETS = ("resnet50", "mobilenet_v2", "efficientnet_b0", "vit_b_16", "bert_base")
SCHEMAS = {"float32": "{}:float32", "tf32": "{}:tf32,{}:float32", "float16": "{}:float16"}
ROUNDS = 15
# RMS(difference) / RMS(reference): beyond it a contestant computes something else.
LARGEST_ERROR = {"float32": 1e-3, "tf32": 2e-2, "float16": 5e-2}


class Clock:
    """What is left of a part's time."""

    def __init__(self, limit: float) -> None:
        self._end = time.monotonic() + limit

    def left(self) -> float:
        return self._end - time.monotonic()


def model(args: argparse.Namespace, name: str, batch: int) -> pathlib.Path:
    """The network's file, made the first time."""
    path = args.work / f"{name}_{batch}{'_narrow' if args.narrow else ''}.onnx"
    if not path.exists():
        command = [sys.executable, HERE.parent / "generator" / "generate.py", name]
        command += ["-o", path, "--batch", str(batch), *(["--narrow"] if args.narrow else [])]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path


def inputs_of(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Seeded inputs: images of deviation 1; tokens, masks and sentence numbers."""
    import onnx

    rng = np.random.default_rng(0)
    inputs = {}
    for value in onnx.load(path, load_external_data=False).graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            inputs[value.name] = rng.standard_normal(shape, np.float32)
        elif value.name == "input_ids":
            inputs[value.name] = rng.integers(1000, 3000, shape)
        else:
            inputs[value.name] = np.full(shape, value.name == "attention_mask", np.int64)
    return inputs


def tuned(
    args: argparse.Namespace, path: pathlib.Path, precision: str, clock: Clock
) -> tuple[pathlib.Path, float]:
    """The tuned file and the seconds that it took; 0 where it was there already."""
    schemas = SCHEMAS[precision].replace("{}", args.device)
    target = args.work / f"{path.stem}_{args.device}_{precision}.dnn"
    if target.exists():
        return target, 0.0
    command = [args.build / "bin" / "softneuro", "tune", path, "-o", target, "--schemas", schemas]
    started = time.monotonic()
    done = subprocess.run(
        [*command, "-q"], capture_output=True, text=True, timeout=max(1, clock.left()), check=False
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return target, time.monotonic() - started


def contestants(
    args: argparse.Namespace,
    path: pathlib.Path,
    name: str,
    precision: str,
    clock: Clock,
    machine: dict[str, Any],
) -> tuple[dict[str, Callable[[], Any]], dict[str, Any]]:
    """What runs, ready to be timed, and what is known of the rest."""
    inputs, runs, facts = inputs_of(path), {}, {}
    library = softneuro_c.Library(args.build / "lib")
    places = peers.on_gpu(inputs) if args.device == "cuda" else {}
    reference = None
    try:
        file, seconds = tuned(args, path, precision, clock)
        facts["tuning_s"] = seconds
        facts["layers"] = shares.of(args.build, file, precision, machine)
        host = softneuro_c.Session(library, path, 0, inputs)
        host.run()
        reference = host.outputs()
        host.close()
        session = softneuro_c.Session(library, file, 0, inputs)
        session.run()
        error = rounds.difference(session.outputs(), reference)["rms"]
        if error > LARGEST_ERROR[precision]:
            raise RuntimeError(f"its answer is off by {error:.3g}")
        if places:
            session.close()
            session = softneuro_c.Session(library, file, 0, inputs, on_gpu=places)
        facts["error"], runs["SoftNeuro"] = error, session.run
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        facts["SoftNeuro"] = str(error)
    for mode in peers.MODES:
        try:
            runs[f"PyTorch {mode}"] = peers.prepared(name, inputs, precision, mode, clock.left())
        except Exception as error:  # noqa: BLE001 (compilers fail in many ways)
            facts[f"PyTorch {mode}"] = f"{type(error).__name__}: {error}".splitlines()[0]
    return runs, facts


def figures_of_machine(args: argparse.Namespace) -> dict[str, Any]:
    """What peers.machine() says; none where that cannot be measured."""
    if args.device != "cuda":
        return {}
    try:
        machine = peers.machine()
    except (ImportError, RuntimeError) as error:
        print(f"The machine's own figures are not known: {error}", file=sys.stderr)
        return {}
    print("  ".join(f"{key} {value}" for key, value in machine.items()), flush=True)
    return machine


def measured(args: argparse.Namespace, name: str, clock: Clock) -> list[dict[str, Any]]:
    machine = figures_of_machine(args)
    rows = []
    for batch in args.batch:
        path = model(args, name, batch)
        for precision in args.precision:
            row: dict[str, Any] = {"net": name, "batch": batch, "precision": precision}
            rows.append(row)
            if clock.left() < args.limit / 10:
                row["failed"] = "not reached in the time of a part"
                continue
            runs, row["facts"] = contestants(args, path, name, precision, clock, machine)
            bursts = rounds.take_turns(runs, ROUNDS) if runs else {}
            row["ms"] = {
                who: {"median": float(np.median(times)), "minimum": min(times)}
                for who, times in bursts.items()
            }
            print(line_of(row), flush=True)
    return rows


def line_of(row: dict[str, Any]) -> str:
    head = f"{row['net']:16s}{row['batch']:4d}  {row['precision']:8s}"
    times = "  ".join(
        f"{who} {ms['median']:.3f} ({ms['minimum']:.3f}) ms" for who, ms in row["ms"].items()
    )
    failed = "; ".join(f"{who}: {why}" for who, why in row["facts"].items() if who[0].isupper())
    return head + times + (f"  [{failed}]" if failed else "")


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=NETS)
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="DIR")
    parser.add_argument("--work", type=pathlib.Path, required=True, metavar="DIR")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--precision", nargs="+", default=list(SCHEMAS), choices=SCHEMAS)
    parser.add_argument("--limit", type=float, default=500, metavar="S", help="of a part")
    parser.add_argument("--device", default="cuda", help="where SoftNeuro runs (default: cuda)")
    parser.add_argument("--narrow", action="store_true", help="small versions, to try the program")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="adds the part's rows")
    parser.add_argument("--picture", type=pathlib.Path, metavar="FILE.svg", help="of all rows there")
    return parser.parse_args()


def main() -> int:
    args = parsed_arguments()
    args.work.mkdir(parents=True, exist_ok=True)
    clock = Clock(args.limit)
    rows = measured(args, args.part, clock)
    if args.json:
        known = json.loads(args.json.read_text()) if args.json.exists() else []
        rows = [row for row in known if row["net"] != args.part] + rows
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    if args.picture:
        picture.draw(rows, args.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
