# SPDX-License-Identifier: Apache-2.0
"""Where the time of a tuned net goes: by library, and how far each layer is from its floor."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections import Counter
from typing import Any

LIBRARIES = {"cudnn": "cuDNN", "cublaslt": "cuBLASLt"}
WORST = 5  # layers that are named


def _floor_us(layer: dict[str, Any], precision: str, machine: dict[str, Any]) -> float:
    """The time in which this machine moves the layer's bytes and multiplies its products."""
    moving = layer["bytes"] / machine["copy_gb_s"] / 1e3
    return max(moving, 2 * layer["macs"] / machine[f"{precision}_tflop_s"] / 1e6)


def of(
    build: pathlib.Path, file: pathlib.Path, precision: str, machine: dict[str, Any]
) -> dict[str, Any]:
    """Shares of the layers' time by library, and the layers that lose most against their floors
    (where those of the machine are known)."""
    command = [build / "bin" / "softneuro", "bench", file, "--profile", "--json", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"failed": done.stderr.strip()}
    layers = json.loads(done.stdout)["layers"]
    total = sum(layer["us"] for layer in layers) or 1.0
    shares: Counter[str] = Counter()
    for layer in layers:
        device, _, algorithm = layer["routine"].rpartition("/")
        own = "own kernels" if device.startswith("cuda") else "host"
        shares[LIBRARIES.get(algorithm, own)] += layer["us"] / total
    facts: dict[str, Any] = {"shares": dict(shares)}
    if machine:
        for layer in layers:
            layer["floor_us"] = _floor_us(layer, precision, machine)
        facts["floor_us"] = sum(layer["floor_us"] for layer in layers)
        layers.sort(key=lambda layer: layer["floor_us"] - layer["us"])
        facts["farthest"] = [
            {key: layer[key] for key in ("layer", "type", "routine", "us", "floor_us")}
            for layer in layers[:WORST]
        ]
    return facts
