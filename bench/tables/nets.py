# SPDX-License-Identifier: Apache-2.0
"""The networks that are measured: model files of the generator, inputs, calibration samples, and
the tuned .dnn files that the `softneuro` command makes of them."""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

GENERATOR = pathlib.Path(__file__).resolve().parents[1] / "generator"
sys.path.insert(0, str(GENERATOR))

import calibration_inputs  # noqa: E402
from networks import NETWORKS  # noqa: E402

# The paper's four nets, and all that ONNX Runtime is compared on (the U-Net is not among them).
TABLE_NETS = ["vgg16", "resnet50", "mobilenet_v2", "mobilenet_v3_large"]
ALL_NETS = [name for name in NETWORKS if name != "unet"]

# What is tuned, by column: patterns of schemas, whether samples are needed, and the error limit.
# Layers that have no routine in a schema (a softmax in qint8) take one in float32. Random weights
# suffer more from 8 bits than trained ones: the limit is far above what an application would set,
# but keeps out what computes something else (tables.py judges the single schemas by LARGEST_ERROR).
TUNINGS = {
    "float32": ("cpu:float32", False, 0),
    "float16": ("cpu:float16", False, 0),
    "qint8": ("cpu:qint8", True, 0),
    "hybrid": ("cpu:float32,cpu:float16,cpu:qint8", True, 0.5),
    "bfloat16": ("cpu:float32,cpu:bfloat16", False, 0),
    "quantised": ("cpu:float32,cpu:qint8", False, 0),  # a model that brings its ranges along
    "quantised7": ("cpu:float32,cpu:qint8", False, 0),  # and weights in seven bits
}
SCHEMA_COLUMNS = ["float32", "float16", "qint8", "hybrid"]
CALIBRATION_SAMPLES = 16


def inputs_for(name: str, seed: int, count: int = 1) -> list[dict[str, np.ndarray]]:
    """`count` typical inputs of batch 1, unlike those that the weights were scaled on."""
    rng = np.random.default_rng(seed)
    if name == "bert_base":
        return [calibration_inputs.tokens(rng, 1, 128, 30522) for _ in range(count)]
    size = {"inception_v3": 299, "unet": 256}.get(name, 224)
    return [
        {"input": calibration_inputs.photo_like(rng, 3, size)[None].astype(np.float32)}
        for _ in range(count)
    ]


@dataclasses.dataclass
class Folders:
    """Where things are: the build (bin/softneuro, lib/), models, and what is made on the way."""

    build: pathlib.Path
    models: pathlib.Path
    work: pathlib.Path

    @property
    def tool(self) -> pathlib.Path:
        return self.build / "bin" / "softneuro"

    @property
    def library(self) -> pathlib.Path:
        return self.build / "lib"

    def model(self, name: str) -> pathlib.Path:
        """The network's file; generated the first time."""
        path = self.models / f"{name}.onnx"
        if not path.exists():
            self.models.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            command = [sys.executable, str(GENERATOR / "generate.py"), name, "-o", str(part)]
            subprocess.run(command, check=True, stdout=sys.stderr)
            part.rename(path)
        return path

    def quantised_model(self, name: str, column: str = "quantised") -> pathlib.Path:
        """The network in 8 bits, by ONNX Runtime's quantizer as its documentation recommends: QDQ,
        unsigned activations, signed weights per channel; "quantised7": these in seven bits. Made
        the first time."""
        path = self.models / column / f"{name}.onnx"
        if not path.exists():
            samples = inputs_for(name, 7, CALIBRATION_SAMPLES)
            quantise(self.model(name), path, samples, reduce_range=column == "quantised7")
        return path

    def calibration(self, name: str) -> pathlib.Path:
        """A folder of samples as `tune --calibration` reads them."""
        folder = self.work / "calibration" / name
        if not folder.exists():
            part = folder.with_name(name + ".part")
            for index, sample in enumerate(inputs_for(name, 7, CALIBRATION_SAMPLES)):
                place = part / f"sample_{index:02}"
                place.mkdir(parents=True, exist_ok=True)
                for tensor, value in sample.items():
                    np.save(place / f"{tensor}.npy", value)
            part.rename(folder)
        return folder


def quantise(
    model: pathlib.Path,
    to: pathlib.Path,
    samples: list[dict[str, np.ndarray]],
    *,
    reduce_range: bool,
) -> None:
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Samples(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self._left = iter(samples)

        def get_next(self) -> dict[str, np.ndarray] | None:
            return next(self._left, None)

    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent) as folder:
        prepared, made = (pathlib.Path(folder) / name for name in ("prepared.onnx", "made.onnx"))
        quant_pre_process(model, prepared, skip_symbolic_shape=True)
        quantization.quantize_static(
            prepared,
            made,
            Samples(),
            quant_format=quantization.QuantFormat.QDQ,
            per_channel=True,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            reduce_range=reduce_range,
        )
        made.rename(to)


def parser_for(description: str | None) -> argparse.ArgumentParser:
    """With --build and --work."""
    path = pathlib.Path
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=path, required=True, help="build folder (bin/, lib/)")
    parser.add_argument("--work", type=path, required=True, help="tuned files, models, samples")
    return parser


def add_models(parser: argparse.ArgumentParser) -> None:
    """--models, see folders_of()."""
    parser.add_argument(
        "--models", type=pathlib.Path, help="generated networks (default: WORK/models)"
    )


def folders_of(arguments: argparse.Namespace) -> Folders:
    work = arguments.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    models = (arguments.models or work / "models").resolve()
    return Folders(arguments.build.resolve(), models, work)


def run_tool(folders: Folders, *arguments: str) -> dict:
    """The tool's JSON report. Its error is raised as one line."""
    command = [str(folders.tool), *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(f"softneuro {arguments[0]}: {lines[-1]}")
    return json.loads(done.stdout) if done.stdout.strip() else {}


def can_tune(folders: Folders) -> bool:
    """Whether this build's tool has the subcommand."""
    done = subprocess.run([str(folders.tool), "--help"], capture_output=True, text=True, check=True)
    return any(line.split()[:1] == ["tune"] for line in done.stdout.splitlines())


@dataclasses.dataclass
class Tuned:
    """A tuned file, how long its making took, and what the tool said."""

    path: pathlib.Path
    cold_seconds: float
    warm_seconds: float
    report: dict


def tuned(folders: Folders, name: str, column: str, threads: int, again: bool = False) -> Tuned:
    """Tunes with an empty profile cache of its own, then once more with the cache that is now
    there. Kept for later calls (and runs) unless `again`."""
    schemas, calibrated, max_error = TUNINGS[column]
    folder = folders.work / f"{name}-{column}-{threads}"
    path, record = folder / "tuned.dnn", folder / "tuned.json"
    if record.exists() and path.exists() and not again:
        return Tuned(path, **json.loads(record.read_text()))
    folder.mkdir(parents=True, exist_ok=True)
    cache = folder / "cache"
    for row in cache.glob("*") if cache.exists() else []:
        row.unlink()
    is_quantised = column.startswith("quantised")
    model = folders.quantised_model(name, column) if is_quantised else folders.model(name)
    arguments = ["tune", str(model), "-o", str(path)]
    arguments += ["--schemas", schemas, "--threads", str(threads), "--cache", str(cache)]
    if calibrated:
        arguments += ["--calibration", str(folders.calibration(name))]
        arguments += ["--max-error", str(max_error or "none")]
    seconds, report = [], {}
    for pass_ in range(2):
        started = time.perf_counter()
        result = run_tool(folders, *arguments)
        seconds.append(time.perf_counter() - started)
        report = report if pass_ else result
    made = Tuned(path, seconds[0], seconds[1], report)
    record.write_text(
        json.dumps(
            {"cold_seconds": seconds[0], "warm_seconds": seconds[1], "report": report}, indent=1
        )
    )
    return made
