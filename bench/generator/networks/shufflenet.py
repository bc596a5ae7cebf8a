# SPDX-License-Identifier: Apache-2.0
"""ShuffleNet V2, width 1.0 (arXiv 1807.11164).

The halves of a split are sliced at a place computed from the tensor's shape,
just as PyTorch's exporter writes `chunk`, even though all shapes are known.
"""

import numpy as np
from graph_builder import Dim, GraphBuilder, Tensor
from layers import classifier, conv_norm, image_input, max_pool, relu


def _halves(g: GraphBuilder, x: Tensor, name: str) -> tuple[Tensor, Tensor]:
    """Both halves of the channels, by Shape, Gather and two Slices."""

    def integers(value: int) -> Tensor:
        return g.constant([value], name, np.int64)

    axis = integers(1)
    extent = g.op("Gather", g.op("Shape", x, scope=name), axis, scope=name, axis=0)
    # (extent + 1) / 2: the first half takes the odd channel.
    half = g.op("Div", g.op("Add", extent, integers(1), scope=name), integers(2), scope=name)
    middle = g.op("Mul", half, integers(1), scope=name)
    first = g.op("Slice", x, integers(0), middle, axis, scope=name)
    end = g.op("Mul", half, integers(2), scope=name)
    return first, g.op("Slice", x, middle, end, axis, scope=name)


def _shuffled(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    """Interleaves the two halves of the channels."""
    _, channels, height, width = x.value.shape
    grouped = g.shape_of([Dim(), 2, channels // 2, height, width], x, name)
    y = g.op("Reshape", x, grouped, scope=name)
    y = g.op("Transpose", y, scope=name, perm=[0, 2, 1, 3, 4])
    return g.op("Reshape", y, g.shape_of([Dim(), -1, height, width], x, name), scope=name)


def _depthwise(g: GraphBuilder, x: Tensor, name: str, stride: int) -> Tensor:
    return conv_norm(g, x, name, x.channels, 3, stride=stride, groups=x.channels)


def _block(g: GraphBuilder, x: Tensor, name: str, channels: int, stride: int) -> Tensor:
    half = channels // 2
    if stride == 1:
        kept, y = _halves(g, x, name)
    else:
        kept = _depthwise(g, x, f"{name}.branch1.0", stride)
        kept = relu(g, conv_norm(g, kept, f"{name}.branch1.2", half, 1), f"{name}.branch1.4")
        y = x
    y = relu(g, conv_norm(g, y, f"{name}.branch2.0", half, 1), f"{name}.branch2.2")
    y = _depthwise(g, y, f"{name}.branch2.3", stride)
    y = relu(g, conv_norm(g, y, f"{name}.branch2.5", half, 1), f"{name}.branch2.7")
    return _shuffled(g, g.op("Concat", kept, y, scope=name, axis=1), name)


def build(g: GraphBuilder) -> None:
    x = image_input(g)
    x = relu(g, conv_norm(g, x, "conv1.0", g.width(24), 3, stride=2), "conv1.2")
    x = max_pool(g, x, "maxpool", 3, 2, pad=1)
    for stage, repeats, channels in ((2, 4, 116), (3, 8, 232), (4, 4, 464)):
        for block in range(repeats):
            x = _block(g, x, f"stage{stage}.{block}", g.width(channels), 2 if block == 0 else 1)
    x = relu(g, conv_norm(g, x, "conv5.0", g.width(1024), 1), "conv5.2")
    x = g.op("ReduceMean", x, scope="mean", axes=[2, 3], keepdims=0)
    g.output(classifier(g, x, "fc"), "output")
