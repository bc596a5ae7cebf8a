# SPDX-License-Identifier: Apache-2.0
"""The engines that are compared, behind one face: made for a model, then `run` and `outputs`.

Every engine gets the same model file, the same number of threads, float32 arithmetic, inputs that
are bound once, and outputs that stay in its own memory where it allows that, so that what is timed
is the network and not the copying around it.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Protocol

import numpy as np
import softneuro_c


class Engine(Protocol):
    """One net in one engine, ready to run."""

    def run(self) -> None: ...

    def outputs(self) -> list[np.ndarray]:
        """Of the last run, in the model's order."""
        ...


class SoftNeuro:
    """This project's library, through its C API. `path`: a model, or a tuned .dnn file."""

    def __init__(
        self, library: pathlib.Path, path: pathlib.Path, threads: int, inputs: dict[str, np.ndarray]
    ) -> None:
        self._session = softneuro_c.Session(softneuro_c.Library(library), path, threads, inputs)
        self.run = self._session.run
        self.outputs = self._session.outputs


class OnnxRuntime:
    """Default options but for the threads; inputs and outputs bound beforehand."""

    def __init__(self, path: pathlib.Path, threads: int, inputs: dict[str, np.ndarray]) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        self._arrays = [
            np.ascontiguousarray(inputs[info.name]) for info in self._session.get_inputs()
        ]
        first = self._session.run(None, inputs)
        self._results = [np.empty_like(array) for array in first]
        self._binding = self._session.io_binding()
        for info, array in zip(self._session.get_inputs(), self._arrays, strict=True):
            self._binding.bind_cpu_input(info.name, array)
        for info, array in zip(self._session.get_outputs(), self._results, strict=True):
            self._binding.bind_output(
                info.name, "cpu", 0, array.dtype, array.shape, array.ctypes.data
            )

    def run(self) -> None:
        self._session.run_with_iobinding(self._binding)

    def outputs(self) -> list[np.ndarray]:
        return [array.copy() for array in self._results]


class OpenVino:
    """Latency hint, one stream, float32 unless `precision` says otherwise; "": its own choice,
    which is bfloat16 where the processor multiplies it."""

    def __init__(
        self,
        path: pathlib.Path,
        threads: int,
        inputs: dict[str, np.ndarray],
        precision: str = "f32",
    ) -> None:
        import openvino

        options: dict[str, object] = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": "1",
            "PERFORMANCE_HINT": "LATENCY",
            "ENABLE_CPU_PINNING": False,
        }
        if precision:
            options["INFERENCE_PRECISION_HINT"] = precision
        compiled = openvino.Core().compile_model(str(path), "CPU", options)
        self._request = compiled.create_infer_request()
        self._count = len(compiled.outputs)
        self._arrays = []
        for port in compiled.inputs:
            array = np.ascontiguousarray(inputs[port.get_any_name()])
            self._arrays.append(array)
            self._request.set_tensor(port, openvino.Tensor(array, shared_memory=True))

    def run(self) -> None:
        self._request.start_async()
        self._request.wait()

    def outputs(self) -> list[np.ndarray]:
        return [
            np.array(self._request.get_output_tensor(index).data) for index in range(self._count)
        ]


class Ncnn:
    """Converted by pnnx in float32. Single images only: its blobs have no batch."""

    def __init__(self, path: pathlib.Path, threads: int, inputs: dict[str, np.ndarray]) -> None:
        import ncnn

        if len(inputs) != 1 or next(iter(inputs.values())).dtype != np.float32:
            raise NotImplementedError("one float32 input only")
        (array,) = inputs.values()
        param = self._converted(path, array.shape)
        self._ncnn, self._net = ncnn, ncnn.Net()
        self._net.opt.num_threads = threads
        for option in ("vulkan_compute", "fp16_packed", "fp16_storage", "fp16_arithmetic"):
            setattr(self._net.opt, f"use_{option}", False)
        self._net.opt.use_bf16_storage = False
        if self._net.load_param(str(param)) or self._net.load_model(str(param.with_suffix(".bin"))):
            raise RuntimeError("ncnn cannot load what pnnx made")
        self._input = ncnn.Mat(np.ascontiguousarray(array[0])).clone()
        self._shape = array.shape
        self._result = None

    @staticmethod
    def _converted(path: pathlib.Path, shape: tuple[int, ...]) -> pathlib.Path:
        """The network's .ncnn.param beside its .ncnn.bin; made the first time."""
        folder = path.parent / "ncnn"
        param = folder / f"{path.stem}.ncnn.param"
        if param.exists():
            return param
        beside = pathlib.Path(sys.executable).parent / "pnnx"
        program = str(beside) if beside.exists() else shutil.which("pnnx")
        if program is None:
            raise NotImplementedError("pnnx is not installed")
        size = ",".join(str(extent) for extent in shape)
        with tempfile.TemporaryDirectory(dir=path.parent) as temporary:
            place = pathlib.Path(temporary)
            (place / path.name).symlink_to(path)
            command = [program, path.name, f"inputshape=[{size}]", "fp16=0"]
            done = subprocess.run(command, cwd=place, capture_output=True, check=False)
            if done.returncode != 0 or not (place / param.name).exists():
                raise RuntimeError("pnnx cannot convert it")
            folder.mkdir(exist_ok=True)
            for suffix in (".bin", ".param"):
                shutil.move(place / param.with_suffix(suffix).name, folder)
        return param

    def run(self) -> None:
        extractor = self._net.create_extractor()
        extractor.input("in0", self._input)
        status, self._result = extractor.extract("out0")
        if status != 0:
            raise RuntimeError("ncnn failed")

    def outputs(self) -> list[np.ndarray]:
        return [np.array(self._result)[None]]


# The engines of Table II besides this one, by the name in the table.
PEERS = {"ONNX Runtime": OnnxRuntime, "OpenVINO": OpenVino, "ncnn": Ncnn}
MODULES = {"ONNX Runtime": "onnxruntime", "OpenVINO": "openvino", "ncnn": "ncnn"}


def installed_peers() -> dict[str, str]:
    """Name and version of each engine that can be imported."""
    from importlib import metadata

    found = {}
    for name, module in MODULES.items():
        try:
            found[name] = metadata.version(module)
        except metadata.PackageNotFoundError:
            continue
    return found
