# SPDX-License-Identifier: Apache-2.0
"""What a quantised model means, as models that plain float kernels run.

`rounded` computes what the integers stand for: QLinear operators become the float operator between
DequantizeLinear and QuantizeLinear, so that no kernel's way of saturating its sums takes part.
`unrounded` has the same clamps, but rounds no activation: every QuantizeLinear becomes a Clip to
the range of its integers.  The tuner may choose any mixture of the two.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper

_RANGES = {np.dtype(np.uint8): (0, 255), np.dtype(np.int8): (-128, 127)}


class _Writer:
    """Collects the nodes of the new graph, and knows the old one's constants."""

    def __init__(self, model: onnx.ModelProto, prefix: str):
        self.prefix = prefix  # of the names that are new
        self.nodes: list[onnx.NodeProto] = []
        self.constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        for node in model.graph.node:
            if node.op_type == "Constant":
                self.constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        self.added: list[onnx.TensorProto] = []

    def constant(self, value: np.ndarray) -> str:
        name = f"{self.prefix}.constant.{len(self.added)}"
        self.added.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def op(self, kind: str, inputs: list[str], output: str | None = None, **attributes) -> str:
        output = output or f"{self.prefix}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output


def _attributes(node: onnx.NodeProto) -> dict:
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def _expanded(writer: _Writer, node: onnx.NodeProto) -> None:
    """A QLinear operator as DequantizeLinear, the operator, QuantizeLinear."""
    if node.op_type == "QLinearConv":
        x, xs, xz, w, ws, wz, ys, yz = node.input[:8]
        inputs = [writer.op("DequantizeLinear", [x, xs, xz])]
        inputs.append(writer.op("DequantizeLinear", [w, ws, wz], axis=0))
        if len(node.input) > 8:
            scale = writer.constants[xs] * writer.constants[ws]
            bias = writer.constants[node.input[8]]
            inputs.append(writer.constant((bias * scale.astype(np.float64)).astype(np.float32)))
        made = writer.op("Conv", inputs, **_attributes(node))
    else:
        a, as_, az, b, bs, bz, ys, yz = node.input
        left = writer.op("DequantizeLinear", [a, as_, az])
        right = writer.op("DequantizeLinear", [b, bs, bz], axis=-1)
        made = writer.op("MatMul", [left, right])
    writer.op("QuantizeLinear", [made, ys, yz], node.output[0])


def _rewritten(model: onnx.ModelProto, writer: _Writer) -> onnx.ModelProto:
    new = onnx.ModelProto()
    new.CopyFrom(model)
    del new.graph.node[:]
    del new.graph.value_info[:]
    new.graph.node.extend(writer.nodes)
    new.graph.initializer.extend(writer.added)
    return new


def rounded(model: onnx.ModelProto) -> onnx.ModelProto:
    writer = _Writer(model, "rounded")
    for node in model.graph.node:
        if node.op_type in ("QLinearConv", "QLinearMatMul"):
            _expanded(writer, node)
        else:
            writer.nodes.append(node)
    return _rewritten(model, writer)


def unrounded(model: onnx.ModelProto) -> onnx.ModelProto:
    model = rounded(model)
    writer = _Writer(model, "unrounded")
    for node in model.graph.node:
        computed = node.input and node.input[0] not in writer.constants
        if node.op_type == "QuantizeLinear" and computed:
            scale = np.float64(writer.constants[node.input[1]].reshape(()))
            zero = writer.constants[node.input[2]].reshape(())
            low, high = _RANGES[zero.dtype]
            bounds = [(level - np.float64(zero)) * scale for level in (low, high)]
            clip = [writer.constant(np.float32(bound)) for bound in bounds]
            writer.op("Clip", [node.input[0], *clip], node.output[0])
        elif node.op_type == "DequantizeLinear" and computed:
            writer.op("Identity", [node.input[0]], node.output[0])
        else:
            writer.nodes.append(node)
    return _rewritten(model, writer)
