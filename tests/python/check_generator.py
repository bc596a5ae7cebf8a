#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the bench's generated networks compute something worth comparing.

    python tests/python/check_generator.py                  # every network
    python tests/python/check_generator.py resnet50 unet
    python tests/python/check_generator.py --dynamic-batch shufflenet_v2_x1_0

Each network is generated into a temporary folder and run with ONNX Runtime on
inputs that its weights were not scaled on.  A test that compares two runtimes
proves nothing on a network whose output is constant, vanishing or the same for
every input, so those are failures here, as are wrong layer sizes.
The exit status is 0 if every network passes.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "generator"))

import calibration_inputs  # noqa: E402
from generate import built, size_faults  # noqa: E402
from networks import NETWORKS  # noqa: E402

# Bounds on the standard deviation of an output, and of every layer's result.
OUTPUT_DEVIATION = (0.05, 10.0)
LAYER_DEVIATION = (0.1, 10.0)
# Least root-mean-square difference between two inputs' outputs, as a share of
# the output's deviation: photograph-like inputs, then plain uniform noise.
LEAST_DIFFERENCE = 0.2
LEAST_NOISE_DIFFERENCE = 0.02
# Most that graph optimisation, which only reorders sums, may change an output,
# as a share of its deviation; a network above this would magnify rounding.
MOST_ROUNDING = 1e-3


@dataclasses.dataclass
class Report:
    """What was measured of one network; `faults` is empty if it passes."""

    deviation: float
    difference: float
    noise_difference: float
    lowest_layer: float
    highest_layer: float
    rounding: float
    faults: list[str]


def session(
    model: onnx.ModelProto | pathlib.Path, optimise: bool = True
) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    source = str(model) if isinstance(model, pathlib.Path) else model.SerializeToString()
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def inputs_for(model: onnx.ModelProto, count: int) -> tuple[list[dict], list[dict]]:
    """`count` typical inputs of batch 1, and two of plain noise."""
    rng = np.random.default_rng(20240229)
    first = model.graph.input[0]
    extents = [d.dim_value for d in first.type.tensor_type.shape.dim[1:]]
    if first.type.tensor_type.elem_type == onnx.TensorProto.INT64:
        typical = [calibration_inputs.tokens(rng, 1, extents[0], 30522) for _ in range(count)]
        noise = []
        for _ in range(2):
            feed = {k: np.ones_like(v) for k, v in typical[0].items()}
            feed["input_ids"] = rng.integers(0, 30522, (1, extents[0]))
            noise.append(feed)
        return typical, noise
    typical = [
        {first.name: calibration_inputs.photo_like(rng, *extents[:2])[None]} for _ in range(count)
    ]
    noise = [{first.name: rng.uniform(0, 1, (1, *extents)).astype(np.float32)} for _ in range(2)]
    return typical, noise


def repeated(feed: dict, batch: int) -> dict:
    return {name: np.repeat(value, batch, axis=0) for name, value in feed.items()}


def relative_difference(one: np.ndarray, other: np.ndarray) -> float:
    """Root mean square of the difference over the standard deviation."""
    return float(np.sqrt(np.square(one - other).mean()) / one.std())


def layer_deviations(model: onnx.ModelProto, feed: dict) -> list[float]:
    """The standard deviation of every result of a layer with weights."""
    weights = {w.name for w in model.graph.initializer}
    names = [
        node.output[0]
        for node in model.graph.node
        if node.op_type in ("Conv", "ConvTranspose", "Gemm", "MatMul") and node.input[1] in weights
    ]
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    present = {output.name for output in model.graph.output}
    shown.graph.output.extend(
        onnx.helper.make_empty_tensor_value_info(n) for n in names if n not in present
    )
    return [float(value.std()) for value in session(shown).run(names, feed)]


def output_faults(output: np.ndarray, index: int) -> list[str]:
    faults = []
    if not np.isfinite(output).all():
        faults.append(f"output {index} is not finite")
    size = np.abs(output)
    if ((size > 0) & (size < np.finfo(output.dtype).tiny)).any():
        faults.append(f"output {index} has denormal numbers")
    if not OUTPUT_DEVIATION[0] < output.std() < OUTPUT_DEVIATION[1]:
        faults.append(f"output {index} has a deviation of {output.std():.2g}")
    if np.unique(output).size < output.size // 4:
        faults.append(f"output {index} repeats its values")
    return faults


def checked(name: str, folder: pathlib.Path, args: argparse.Namespace) -> Report:
    graph = built(name, args.seed, args.batch, args.dynamic_batch)
    faults = size_faults(name, graph)
    model = graph.model()
    del graph  # frees the calibration's intermediate results
    path = folder / f"{name}.onnx"
    onnx.save(model, path)

    runtime = session(path)
    typical, noise = inputs_for(model, 2)
    results = [runtime.run(None, repeated(feed, args.batch)) for feed in typical]
    for index, output in enumerate(results[0]):
        faults += output_faults(output, index)

    difference = min(relative_difference(a, b) for a, b in zip(*results, strict=True))
    if difference < LEAST_DIFFERENCE:
        faults.append(f"two inputs give almost the same output ({difference:.2g})")
    noisy = [runtime.run(None, repeated(feed, args.batch)) for feed in noise]
    noise_difference = min(relative_difference(a, b) for a, b in zip(*noisy, strict=True))
    if noise_difference < LEAST_NOISE_DIFFERENCE:
        faults.append(f"two noise inputs give almost the same output ({noise_difference:.2g})")

    if args.dynamic_batch:
        both = {key: np.concatenate([feed[key] for feed in typical]) for key in typical[0]}
        for index, output in enumerate(runtime.run(None, both)):
            apart = np.concatenate([result[index] for result in results])
            if relative_difference(apart, output) > MOST_ROUNDING:
                faults.append(f"output {index} of a batch differs from its inputs' one by one")

    del runtime
    feed = repeated(typical[0], args.batch)
    plain = session(path, optimise=False).run(None, feed)
    rounding = max(
        float(np.abs(a - b).max() / a.std()) for a, b in zip(plain, results[0], strict=True)
    )
    if rounding > MOST_ROUNDING:
        faults.append(f"rounding changes the output by {rounding:.2g} of its deviation")
    path.unlink()

    layers = layer_deviations(model, feed)
    if min(layers) < LAYER_DEVIATION[0] or max(layers) > LAYER_DEVIATION[1]:
        faults.append("a layer's result has vanished or exploded")
    deviation = float(results[0][0].std())
    return Report(
        deviation, difference, noise_difference, min(layers), max(layers), rounding, faults
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="networks (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument(
        "--dynamic-batch", action="store_true", help="also compare a batch with single inputs"
    )
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in NETWORKS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    if args.dynamic_batch and args.batch != 1:
        parser.error("--dynamic-batch goes without --batch")

    print("deviation: of the output; difference: between two inputs' outputs, and between two")
    print("noise inputs', per deviation; layers: lowest and highest deviation of a layer's")
    print("result; rounding: largest effect of graph optimisation, per deviation\n")
    print(
        f"{'network':20s}{'deviation':>10s}{'difference':>12s}{'noise':>8s}{'layers':>15s}{'rounding':>10s}"
    )
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in args.names or NETWORKS:
            r = checked(name, pathlib.Path(folder), args)
            layers = f"{r.lowest_layer:.2f}..{r.highest_layer:.2f}"
            print(
                f"{name:20s}{r.deviation:10.3f}{r.difference:12.3f}{r.noise_difference:8.3f}"
                f"{layers:>15s}{r.rounding:10.1e}  {'FAILED' if r.faults else 'ok'}",
                flush=True,
            )
            for fault in r.faults:
                print(f"    {fault}", flush=True)
            failed += bool(r.faults)
    print(f"\n{failed} failed" if failed else "\nall passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
