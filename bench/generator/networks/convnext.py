# SPDX-License-Identifier: Apache-2.0
"""ConvNeXt-Tiny (arXiv 2201.03545), with layer norm and GELU decomposed as
exporters write them up to opset 16."""

import numpy as np
from graph_builder import GraphBuilder, Tensor
from layers import classifier, conv, gelu, image_input, layer_norm, linear

_STAGES = ((3, 96), (3, 192), (9, 384), (3, 768))
_EPSILON = 1e-6


def _to_nhwc(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    return g.op("Transpose", x, scope=name, perm=[0, 2, 3, 1])


def _to_nchw(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    return g.op("Transpose", x, scope=name, perm=[0, 3, 1, 2])


def _layer_norm_2d(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    return _to_nchw(g, layer_norm(g, _to_nhwc(g, x, name), name, _EPSILON), name)


def _block(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    channels = x.channels
    y = conv(g, x, f"{name}.block.0", channels, 7, groups=channels)
    y = layer_norm(g, _to_nhwc(g, y, f"{name}.block.1"), f"{name}.block.2", _EPSILON)
    y = gelu(g, linear(g, y, f"{name}.block.3", 4 * channels), f"{name}.block.4")
    y = _to_nchw(g, linear(g, y, f"{name}.block.5", channels), f"{name}.block.6")
    # Training starts these at 1e-6 and ends well above; 0.4 lets a block count.
    scale = g.rng.uniform(0.3, 0.5, (channels, 1, 1)).astype(np.float32)
    y = g.op("Mul", g.weight(f"{name}.layer_scale", scale), y, scope=name)
    return g.op("Add", y, x, scope=name)


def build(g: GraphBuilder) -> None:
    x = conv(g, image_input(g), "features.0.0", g.width(96), 4, stride=4, pad=0)
    x = _layer_norm_2d(g, x, "features.0.1")
    for stage, (depth, channels) in enumerate(_STAGES):
        if stage > 0:
            x = _layer_norm_2d(g, x, f"features.{2 * stage}.0")
            x = conv(g, x, f"features.{2 * stage}.1", g.width(channels), 2, stride=2, pad=0)
        for index in range(depth):
            x = _block(g, x, f"features.{2 * stage + 1}.{index}")
    x = g.op("GlobalAveragePool", x, scope="avgpool")
    x = _layer_norm_2d(g, x, "classifier.0")
    x = g.op("Flatten", x, scope="classifier.1", axis=1)
    g.output(classifier(g, x, "classifier.2"), "output")
