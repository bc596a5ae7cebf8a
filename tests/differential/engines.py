# SPDX-License-Identifier: Apache-2.0
"""The engines that are compared: softneuro in a process of its own, ONNX Runtime, and the ONNX
package's reference evaluator as the judge where ONNX Runtime refuses."""

from __future__ import annotations

import pathlib
import select
import struct
import subprocess

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

_BY_NAME = {
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float64": np.float64,
    "boolean": np.bool_,
    **{f"{s}int{b}": np.dtype(f"{s}int{b}").type for s in ("", "u") for b in (8, 16, 32, 64)},
}
_BY_TYPE = {np.dtype(t): n for n, t in _BY_NAME.items()}


class Refused(Exception):
    """The engine says that it cannot run the model; the text is its own."""


class Crashed(Exception):
    """The engine's process has ended, or does not respond."""


def _text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(data)) + data


class SoftNeuro:
    """driver.cpp, which says what goes over the pipes; a new process after each crash."""

    def __init__(self, driver: pathlib.Path, patience: float = 60):
        self._driver = driver
        self._patience = patience
        self._process: subprocess.Popen | None = None

    def run(self, model: bytes, feed: dict[str, np.ndarray], options: str) -> dict[str, np.ndarray]:
        if self._process is None:
            self._process = subprocess.Popen(
                [self._driver], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        request = _text(options) + _text(model) + struct.pack("<I", len(feed))
        for name, array in feed.items():
            request += _text(name) + _text(_BY_TYPE[array.dtype])
            request += struct.pack(f"<I{array.ndim}q", array.ndim, *array.shape)
            request += _text(np.ascontiguousarray(array).tobytes())
        try:
            self._process.stdin.write(request)
            self._process.stdin.flush()
            return self._response()
        except (BrokenPipeError, EOFError, TimeoutError) as error:
            status = self.close()
            raise Crashed(f"{type(error).__name__}, exit status {status}") from error

    def close(self) -> int | None:
        if self._process is None:
            return None
        process, self._process = self._process, None
        process.kill()
        process.stdin.close()
        process.stdout.close()
        return process.wait()

    def _bytes(self, count: int) -> bytes:
        data = self._process.stdout.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def _number(self) -> int:
        return struct.unpack("<I", self._bytes(4))[0]

    def _response(self) -> dict[str, np.ndarray]:
        if not select.select([self._process.stdout], [], [], self._patience)[0]:
            raise TimeoutError
        message = self._bytes(self._number()).decode(errors="replace")
        outputs = {}
        for _ in range(self._number()):
            name = self._bytes(self._number()).decode()
            kind = _BY_NAME[self._bytes(self._number()).decode()]
            rank = self._number()
            shape = struct.unpack(f"<{rank}q", self._bytes(8 * rank))
            outputs[name] = np.frombuffer(self._bytes(self._number()), kind).reshape(shape)
        if message:
            raise Refused(message)
        return outputs


def run_onnxruntime(
    model: onnx.ModelProto, feed: dict[str, np.ndarray], optimise: bool = False
) -> dict[str, np.ndarray]:
    levels = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = (
        levels.ORT_ENABLE_ALL if optimise else levels.ORT_DISABLE_ALL
    )
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, ["CPUExecutionProvider"]
        )
        names = [output.name for output in model.graph.output]
        return dict(zip(names, session.run(names, feed), strict=True))
    except Exception as error:  # its own exceptions have no common base
        raise Refused(str(error)) from error


def run_reference(model: onnx.ModelProto, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    try:
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(model).run(None, feed)
    except Exception as error:
        raise Refused(str(error)) from error
    names = [output.name for output in model.graph.output]
    return {n: np.asarray(r) for n, r in zip(names, results, strict=True)}
