# SPDX-License-Identifier: Apache-2.0
"""MobileNetV2, width 1.0 (arXiv 1801.04381)."""

from graph_builder import GraphBuilder, Tensor
from layers import classifier, conv_norm, global_pool_flat, image_input, relu6

# Expansion, output channels, repeats, stride of the first: the paper's Table 2.
_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def inverted_residual(
    g: GraphBuilder, x: Tensor, name: str, expansion: int, channels: int, stride: int
) -> Tensor:
    y, index = x, 0
    if expansion != 1:
        y = conv_norm(g, y, f"{name}.conv.0.0", x.channels * expansion, 1)
        y, index = relu6(g, y, f"{name}.conv.0.2"), 1
    y = conv_norm(g, y, f"{name}.conv.{index}.0", y.channels, 3, stride=stride, groups=y.channels)
    y = relu6(g, y, f"{name}.conv.{index}.2")
    residual = stride == 1 and x.channels == channels
    y = conv_norm(g, y, f"{name}.conv.{index + 1}", channels, 1, gain=0.5 if residual else 1.0)
    return g.op("Add", x, y, scope=name) if residual else y


def build(g: GraphBuilder) -> None:
    x = relu6(g, conv_norm(g, image_input(g), "features.0.0", g.width(32), 3, stride=2), "features.0.2")
    index = 1
    for expansion, channels, repeats, stride in _STAGES:
        for repeat in range(repeats):
            x = inverted_residual(g, x, f"features.{index}", expansion, g.width(channels), stride if repeat == 0 else 1)
            index += 1
    x = relu6(g, conv_norm(g, x, f"features.{index}.0", g.width(1280), 1), f"features.{index}.2")
    g.output(classifier(g, global_pool_flat(g, x, "avgpool"), "classifier.1"), "output")
