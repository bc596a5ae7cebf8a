# SPDX-License-Identifier: Apache-2.0
"""A U-Net of five levels on 3x256x256 images, one class (arXiv 1505.04597), in the
widely used variant with 32 channels at the top, batch normalisation (explicit
here) and transposed convolutions on the way up."""

from graph_builder import GraphBuilder, Tensor
from layers import batch_norm, conv, conv_transpose, image_input, max_pool, relu

_TOP, _LEVELS = 32, 4  # four poolings, hence five levels


def _double(g: GraphBuilder, x: Tensor, block: str, prefix: str, channels: int) -> Tensor:
    for part in (1, 2):
        x = conv(g, x, f"{block}.{prefix}conv{part}", channels, 3, bias=False)
        x = batch_norm(g, x, f"{block}.{prefix}norm{part}")
        x = relu(g, x, f"{block}.{prefix}relu{part}")
    return x


def build(g: GraphBuilder) -> None:
    x = image_input(g, 256)
    skips = []
    for level in range(1, _LEVELS + 1):
        x = _double(g, x, f"encoder{level}", f"enc{level}", g.width(_TOP << (level - 1)))
        skips.append(x)
        x = max_pool(g, x, f"pool{level}", 2, 2)
    x = _double(g, x, "bottleneck", "bottleneck", g.width(_TOP << _LEVELS))
    for level in range(_LEVELS, 0, -1):
        x = conv_transpose(g, x, f"upconv{level}", g.width(_TOP << (level - 1)), 2)
        x = g.op("Concat", x, skips[level - 1], scope=f"decoder{level}", axis=1)
        x = _double(g, x, f"decoder{level}", f"dec{level}", g.width(_TOP << (level - 1)))
    g.output(g.op("Sigmoid", conv(g, x, "conv", 1, 1, gain=2.0), scope="sigmoid"), "output")
