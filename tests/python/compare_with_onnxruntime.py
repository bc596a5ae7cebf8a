#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the softneuro command with ONNX Runtime on the bench's generated networks.

    python tests/python/compare_with_onnxruntime.py --tool build/release/bin/softneuro
    python tests/python/compare_with_onnxruntime.py --tool … resnet18 vit_b_16

Each network is generated into a temporary folder, run by both on the same
inputs, and compared: the largest difference must stay below 1e-4 of the
output's range.  The exit status is 0 if every network passes.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "generator"))

from check_generator import inputs_for  # noqa: E402
from generate import built  # noqa: E402
from networks import NETWORKS  # noqa: E402

TOLERANCE = 1e-4  # of the output's range


def file_name(tensor: str) -> str:
    """The name under which the tool writes an output."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in tensor)
    return plain + ".npy"


def run_tool(
    tool: pathlib.Path, model: pathlib.Path, inputs: dict[str, np.ndarray], folder: pathlib.Path
) -> dict[str, np.ndarray]:
    """Outputs by name, as `softneuro run` writes them."""
    command = [str(tool), "run", str(model), "--output-dir", str(folder / "out")]
    for index, (name, value) in enumerate(inputs.items()):
        path = folder / f"in_{index}.npy"
        np.save(path, value)
        command += ["--input", f"{name}={path}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return {path.name: np.load(path) for path in (folder / "out").iterdir()}


def compare(name: str, tool: pathlib.Path) -> float:
    """Largest difference as a share of the output's range."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        path = folder / "model.onnx"
        model = built(name).model()
        path.write_bytes(model.SerializeToString())
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
        inputs = inputs_for(model, 1)[0][0]
        expected = session.run(None, inputs)
        outputs = run_tool(tool, path, inputs, folder)
        worst = 0.0
        for info, reference in zip(session.get_outputs(), expected, strict=True):
            value = outputs[file_name(info.name)]
            if value.shape != reference.shape:
                raise RuntimeError(f"{info.name}: {value.shape} instead of {reference.shape}")
            extent = float(reference.max() - reference.min())
            worst = max(worst, float(np.abs(value - reference).max()) / extent)
        return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="networks; all if left out")
    parser.add_argument("--tool", type=pathlib.Path, required=True, help="the softneuro command")
    arguments = parser.parse_args()
    failed = 0
    for name in arguments.names or NETWORKS:
        try:
            worst = compare(name, arguments.tool)
            passed = worst <= TOLERANCE
            print(f"{name:22} {worst:9.2e} of the range  {'ok' if passed else 'DIFFERS'}", flush=True)
        except (RuntimeError, KeyError) as error:
            passed = False
            print(f"{name:22} FAILED: {error}", flush=True)
        failed += not passed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
