#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes quantised models with reference outputs for softneuro_tuned.

    python tests/tuned/make_cases.py FOLDER [--shared MODELS]

Small networks of the bench generator, quantised by ONNX Runtime's own quantizer
in every way that it has: QDQ and QLinear operators, per tensor and per channel,
unsigned and signed, asymmetric and symmetric, activations kept and dropped.
With --shared, the quantised models of that folder as well.  Each gets a folder
with model.onnx, case.json and data_K/, where the outputs come in two versions:
rounded, as the model says, and only clamped (unrounded.py).
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import logging
import pathlib
import shutil
import sys
import tempfile
from collections import Counter

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import small_networks  # noqa: E402  (puts the generator on the path)
from calibration_inputs import photo_like  # noqa: E402
from unrounded import rounded, unrounded  # noqa: E402

CALIBRATION_IMAGES = 8
TEST_IMAGES = 2
# Rounding may change an output by so much of its RMS: above, a test could not tell it from garbage.
MOST_ROUNDING = 0.15


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to quantise."""

    operators: bool  # QLinear operators instead of QDQ pairs
    per_channel: bool
    signed: bool
    symmetric: bool
    keep: bool  # ReLU and Clip, where the range of a quantised tensor would do their work

    @property
    def name(self) -> str:
        return "_".join(
            [
                "qlinear" if self.operators else "qdq",
                "channel" if self.per_channel else "tensor",
                ("s8" if self.signed else "u8") + ("sym" if self.symmetric else ""),
                "kept" if self.keep else "dropped",
            ]
        )


def variants() -> list[Variant]:
    """The quantizer drops activations of asymmetric ranges alone; with QLinear operators always."""
    made = []
    for operators, channel in itertools.product((False, True), repeat=2):
        for signed, symmetric in ((False, False), (True, False), (True, True)):
            keeps = (True,) if symmetric else (False,) if operators else (True, False)
            made += [Variant(operators, channel, signed, symmetric, keep) for keep in keeps]
    return made


class Images(CalibrationDataReader):
    def __init__(self, images: list[np.ndarray]):
        self._left = iter(images)

    def get_next(self) -> dict | None:
        image = next(self._left, None)
        return None if image is None else {"input": image}


def images(count: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [photo_like(rng, 3, small_networks.SIZE)[None] for _ in range(count)]


def quantised(model: onnx.ModelProto, variant: Variant) -> onnx.ModelProto:
    options = {
        "ActivationSymmetric": variant.symmetric,
        "QDQKeepRemovableActivations": variant.keep,
    }
    # The QLinear operators of ONNX itself; those of other domains are not imported.
    kinds = ["Conv", "MatMul", "Relu", "Clip", "MaxPool", "Reshape", "Transpose"]
    with tempfile.TemporaryDirectory() as folder:
        plain, path = (pathlib.Path(folder) / name for name in ("plain.onnx", "model.onnx"))
        onnx.save(model, plain)
        quantize_static(
            plain,
            path,
            Images(images(CALIBRATION_IMAGES, seed=1)),
            quant_format=QuantFormat.QOperator if variant.operators else QuantFormat.QDQ,
            op_types_to_quantize=kinds if variant.operators else None,
            per_channel=variant.per_channel,
            reduce_range=False,
            activation_type=QuantType.QInt8 if variant.signed else QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            extra_options=options,
        )
        return onnx.load(path)


def run(model: onnx.ModelProto, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
    """As the model says, operator by operator."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    return session.run(None, feed)


def relative_rms(value: np.ndarray, reference: np.ndarray) -> float:
    return float(np.sqrt(np.square(value - reference).mean() / np.square(reference).mean()))


def is_quantised(model: onnx.ModelProto) -> bool:
    return any(node.op_type in ("QuantizeLinear", "QLinearConv") for node in model.graph.node)


def write_case(folder: pathlib.Path, model: onnx.ModelProto, feeds: list[dict]) -> float:
    """Writes one folder; the largest share of an output that rounding makes out."""
    folder.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    quantised = is_quantised(model)
    data, most = [], 0.0
    for index, feed in enumerate(feeds):
        name = f"data_{index}"
        (folder / name).mkdir()
        inputs, outputs = [], []
        for j, (tensor, value) in enumerate(feed.items()):
            np.save(folder / name / f"input_{j}.npy", value)
            inputs.append({"name": tensor, "file": f"input_{j}.npy"})
        exact = run(rounded(model), feed)
        clamped = run(unrounded(model), feed) if quantised else exact
        results = zip(model.graph.output, exact, clamped, strict=True)
        for j, (tensor, value, plain) in enumerate(results):
            np.save(folder / name / f"output_{j}.npy", value)
            outputs.append({"name": tensor.name, "file": f"output_{j}.npy"})
            if quantised:
                np.save(folder / name / f"unrounded_{j}.npy", plain)
                outputs[-1]["unrounded"] = f"unrounded_{j}.npy"
            most = max(most, relative_rms(value, plain))
        data.append({"data": name, "inputs": inputs, "outputs": outputs})
    ops = Counter(node.op_type for node in model.graph.node)
    (folder / "case.json").write_text(json.dumps({"ops": ops, "data": data}, indent=1))
    return most


def shared_feeds(folder: pathlib.Path) -> list[dict]:
    feeds = []
    for data in json.loads((folder / "case.json").read_text())["data"]:
        place = folder / data["data"]
        feeds.append({i["name"]: np.load(place / i["file"]) for i in data["inputs"]})
    return feeds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="where to write; emptied before")
    parser.add_argument("--shared", type=pathlib.Path, help="folder of models with case.json")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # the quantizer's advice
    shutil.rmtree(arguments.folder, ignore_errors=True)

    cases = {}
    feeds = [{"input": image} for image in images(TEST_IMAGES, seed=2)]
    for name in small_networks.NETWORKS:
        plain = small_networks.built(name).model()
        for variant in variants():
            cases[f"{name}_{variant.name}"] = (quantised(plain, variant), feeds)
    # Brightness as in pictures: the generator's are around 0, with a deviation of 1.
    pictures = [{"input": np.clip(128 + 64 * feed["input"], 0, 255)} for feed in feeds]
    cases["style"] = (small_networks.style(), pictures)
    if arguments.shared and arguments.shared.is_dir():
        for folder in sorted(arguments.shared.iterdir()):
            if not (folder / "model.onnx").exists():
                continue
            model = onnx.load(folder / "model.onnx")
            if is_quantised(model):
                cases[f"shared_{folder.name}"] = (model, shared_feeds(folder))

    failed = 0
    for name, (model, inputs) in cases.items():
        most = write_case(arguments.folder / name, model, inputs)
        kinds = Counter(node.op_type for node in model.graph.node)
        activations = kinds["Relu"] + kinds["Clip"]
        print(f"{name:44} rounding {most:.4f}, {activations} activations", flush=True)
        if most > MOST_ROUNDING:
            print(f"{name}: rounding makes out more than {MOST_ROUNDING} of an output")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
