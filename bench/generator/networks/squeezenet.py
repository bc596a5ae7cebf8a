# SPDX-License-Identifier: Apache-2.0
"""SqueezeNet 1.1 (arXiv 1602.07360; 1.1 is the authors' cheaper revision)."""

from graph_builder import GraphBuilder, Tensor
from layers import conv, global_pool_flat, image_input, max_pool, relu


def fire(g: GraphBuilder, x: Tensor, name: str, squeezed: int, expanded: int) -> Tensor:
    squeezed, expanded = g.width(squeezed), g.width(expanded)
    x = relu(g, conv(g, x, f"{name}.squeeze", squeezed, 1), f"{name}.squeeze_activation")
    small = relu(g, conv(g, x, f"{name}.expand1x1", expanded, 1), f"{name}.expand1x1_activation")
    large = relu(g, conv(g, x, f"{name}.expand3x3", expanded, 3), f"{name}.expand3x3_activation")
    return g.op("Concat", small, large, scope=name, axis=1)


def build(g: GraphBuilder) -> None:
    x = image_input(g)
    x = relu(g, conv(g, x, "features.0", g.width(64), 3, stride=2, pad=0), "features.1")
    x = max_pool(g, x, "features.2", 3, 2, ceil=True)
    x = fire(g, x, "features.3", 16, 64)
    x = fire(g, x, "features.4", 16, 64)
    x = max_pool(g, x, "features.5", 3, 2, ceil=True)
    x = fire(g, x, "features.6", 32, 128)
    x = fire(g, x, "features.7", 32, 128)
    x = max_pool(g, x, "features.8", 3, 2, ceil=True)
    x = fire(g, x, "features.9", 48, 192)
    x = fire(g, x, "features.10", 48, 192)
    x = fire(g, x, "features.11", 64, 256)
    x = fire(g, x, "features.12", 64, 256)
    x = relu(g, conv(g, x, "classifier.1", 1000, 1, gain=2.0), "classifier.2")
    g.output(global_pool_flat(g, x, "classifier.3"), "output")
