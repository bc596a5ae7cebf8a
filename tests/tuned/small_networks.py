# SPDX-License-Identifier: Apache-2.0
"""Small networks out of the bench generator's blocks: quick to tune, and with what exporters and
quantizers make of real ones."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "generator"))

from evaluator import IR_VERSION  # noqa: E402
from graph_builder import GraphBuilder, Tensor  # noqa: E402
from layers import (  # noqa: E402
    conv,
    conv_norm,
    gemm,
    global_pool_flat,
    image_input,
    linear,
    max_pool,
    relu,
    relu6,
)
from networks.mobilenet_v2 import inverted_residual  # noqa: E402
from networks.resnet import basic_block  # noqa: E402
from networks.squeezenet import fire  # noqa: E402

SIZE = 32  # of the input images
_CLASSES = 10


def resnet(g: GraphBuilder) -> None:
    """Additions whose ReLU comes behind them, a pool, a shortcut with a convolution."""
    x = relu(g, conv_norm(g, image_input(g, SIZE), "conv1", 16, 3), "relu")
    x = max_pool(g, x, "maxpool", 3, 2, pad=1)
    x = basic_block(g, x, "layer1", 16, 1)
    x = basic_block(g, x, "layer2", 32, 2)
    g.output(gemm(g, global_pool_flat(g, x, "avgpool"), "fc", _CLASSES), "output")


def mobilenet(g: GraphBuilder) -> None:
    """Depthwise convolutions; ReLU6 as Clip, linear bottlenecks between."""
    x = relu6(g, conv_norm(g, image_input(g, SIZE), "stem", 16, 3, stride=2), "stem.2")
    x = inverted_residual(g, x, "block1", 1, 8, 1)
    x = inverted_residual(g, x, "block2", 4, 16, 2)
    x = inverted_residual(g, x, "block3", 4, 16, 1)
    g.output(gemm(g, global_pool_flat(g, x, "avgpool"), "fc", _CLASSES), "output")


def detector(g: GraphBuilder) -> None:
    """Concatenations of ReLU's results, and heads of two scales: transposed, reshaped, joined."""
    x = relu(g, conv(g, image_input(g, SIZE), "features.0", 16, 3, stride=2), "features.1")
    fine = fire(g, x, "features.2", 8, 16)
    coarse = fire(g, max_pool(g, fine, "features.3", 3, 2, ceil=True), "features.4", 8, 16)
    heads = [_head(g, fine, "head0"), _head(g, coarse, "head1")]
    rows = g.op("Concat", *heads, scope="heads", axis=1)
    g.output(linear(g, relu(g, rows, "rows"), "boxes", 4), "boxes")


def _head(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    x = relu(g, conv(g, x, name, 8, 3), f"{name}.relu")
    cells = x.value.shape[2] * x.value.shape[3]
    last = g.op("Transpose", x, scope=name, perm=[0, 2, 3, 1])
    rows = g.constant([-1, cells, 8], name, "int64")
    return g.op("Reshape", last, rows, scope=name)


NETWORKS = {"resnet": resnet, "mobilenet": mobilenet, "detector": detector}
OPSET = 13


def built(name: str) -> GraphBuilder:
    graph = GraphBuilder(name, OPSET)
    NETWORKS[name](graph)
    return graph


def style() -> onnx.ModelProto:
    """As style-transfer nets are: on pictures of 0 to 255, what comes before the first
    normalisation passes the largest float16, 65,504; on inputs around 0 and 1 it does not."""
    rng = np.random.default_rng(3)
    weights = {
        "conv1.weight": rng.uniform(0, 0.2, (8, 3, 9, 9)),
        "conv2.weight": rng.normal(0, 15, (16, 8, 3, 3)),
        "scale": np.ones(16),
        "bias": np.full(16, 0.5),
        "conv3.weight": rng.normal(0, 0.1, (3, 16, 3, 3)),
    }
    nodes = [
        helper.make_node("Conv", ["input", "conv1.weight"], ["a"], pads=[4] * 4),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "conv2.weight"], ["c"], pads=[1] * 4, strides=[2, 2]),
        helper.make_node("InstanceNormalization", ["c", "scale", "bias"], ["d"]),
        helper.make_node("Relu", ["d"], ["e"]),
        helper.make_node("Conv", ["e", "conv3.weight"], ["output"], pads=[1] * 4),
    ]
    shape = [1, 3, SIZE, SIZE]
    graph = helper.make_graph(
        nodes,
        "style",
        [helper.make_tensor_value_info("input", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("output", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
