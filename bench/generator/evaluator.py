# SPDX-License-Identifier: Apache-2.0
"""Runs single ONNX operators, so that a graph can be evaluated while it grows."""

from __future__ import annotations

import numpy as np
import onnxruntime
from onnx import helper

# The oldest file format that carries every operator set used here (13 to 17).
IR_VERSION = 8


class Evaluator:
    """One-node ONNX Runtime sessions, kept by operator and attributes.

    Inputs are declared without shapes and weights are ordinary inputs, so one
    session serves every layer of the same kind.  It runs on one thread: a sum
    split over threads may be added up in another order, and then the same seed
    would not give the same weights.
    """

    def __init__(self, opset: int):
        self._opset = opset
        self._sessions: dict = {}

    def run(self, kind: str, inputs: list[np.ndarray | None], attributes: dict) -> np.ndarray:
        """The operator's first output; an input of None is an omitted one."""
        types = tuple(None if value is None else value.dtype.str for value in inputs)
        key = (kind, types, repr(sorted(attributes.items())))
        if key not in self._sessions:
            self._sessions[key] = self._session(kind, inputs, attributes)
        feed = {f"i{k}": value for k, value in enumerate(inputs) if value is not None}
        return self._sessions[key].run(None, feed)[0]

    def _session(self, kind: str, inputs: list, attributes: dict):
        names = ["" if value is None else f"i{k}" for k, value in enumerate(inputs)]
        declared = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), None)
            for name, value in zip(names, inputs, strict=True)
            if name
        ]
        # The output's type is left open; ONNX Runtime infers it.
        output = helper.make_empty_tensor_value_info("o")
        graph = helper.make_graph(
            [helper.make_node(kind, names, ["o"], **attributes)], "one", declared, [output]
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self._opset)], ir_version=IR_VERSION
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
