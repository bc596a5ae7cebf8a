# SPDX-License-Identifier: Apache-2.0
"""Inception v3 at 299x299 (arXiv 1512.00567), without the auxiliary head."""

from graph_builder import GraphBuilder, Tensor
from layers import (
    average_pool,
    classifier,
    conv_norm,
    global_pool_flat,
    image_input,
    max_pool,
    relu,
)

from networks.input_transform import transform_input


def _conv(g: GraphBuilder, x: Tensor, name: str, channels: int, kernel, **options) -> Tensor:
    return relu(g, conv_norm(g, x, f"{name}.conv", g.width(channels), kernel, **options), name)


def _chain(g: GraphBuilder, x: Tensor, name: str, layers: list) -> Tensor:
    """Convolutions one after another: (suffix, channels, kernel[, stride])."""
    for suffix, channels, kernel, *stride in layers:
        # A stride of 2 goes with no padding; the others keep the size.
        options = {"stride": stride[0], "pad": 0} if stride else {}
        x = _conv(g, x, f"{name}.{suffix}", channels, kernel, **options)
    return x


def _pooled(g: GraphBuilder, x: Tensor, name: str, channels: int) -> Tensor:
    return _conv(g, average_pool(g, x, name, 3, 1, pad=1), f"{name}.branch_pool", channels, 1)


def _concat(g: GraphBuilder, name: str, *branches: Tensor) -> Tensor:
    return g.op("Concat", *branches, scope=name, axis=1)


def _block_a(g: GraphBuilder, x: Tensor, name: str, pool_channels: int) -> Tensor:
    return _concat(
        g,
        name,
        _chain(g, x, name, [("branch1x1", 64, 1)]),
        _chain(g, x, name, [("branch5x5_1", 48, 1), ("branch5x5_2", 64, 5)]),
        _chain(
            g,
            x,
            name,
            [("branch3x3dbl_1", 64, 1), ("branch3x3dbl_2", 96, 3), ("branch3x3dbl_3", 96, 3)],
        ),
        _pooled(g, x, name, pool_channels),
    )


def _block_b(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    return _concat(
        g,
        name,
        _chain(g, x, name, [("branch3x3", 384, 3, 2)]),
        _chain(
            g,
            x,
            name,
            [("branch3x3dbl_1", 64, 1), ("branch3x3dbl_2", 96, 3), ("branch3x3dbl_3", 96, 3, 2)],
        ),
        max_pool(g, x, name, 3, 2),
    )


def _block_c(g: GraphBuilder, x: Tensor, name: str, inner: int) -> Tensor:
    row, column = (1, 7), (7, 1)
    long = [
        ("branch7x7dbl_1", inner, 1),
        ("branch7x7dbl_2", inner, column),
        ("branch7x7dbl_3", inner, row),
        ("branch7x7dbl_4", inner, column),
        ("branch7x7dbl_5", 192, row),
    ]
    return _concat(
        g,
        name,
        _chain(g, x, name, [("branch1x1", 192, 1)]),
        _chain(
            g,
            x,
            name,
            [("branch7x7_1", inner, 1), ("branch7x7_2", inner, row), ("branch7x7_3", 192, column)],
        ),
        _chain(g, x, name, long),
        _pooled(g, x, name, 192),
    )


def _block_d(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    long = [
        ("branch7x7x3_1", 192, 1),
        ("branch7x7x3_2", 192, (1, 7)),
        ("branch7x7x3_3", 192, (7, 1)),
        ("branch7x7x3_4", 192, 3, 2),
    ]
    return _concat(
        g,
        name,
        _chain(g, x, name, [("branch3x3_1", 192, 1), ("branch3x3_2", 320, 3, 2)]),
        _chain(g, x, name, long),
        max_pool(g, x, name, 3, 2),
    )


def _forked(g: GraphBuilder, x: Tensor, name: str, stem: str) -> Tensor:
    """A 1x3 and a 3x1 convolution side by side."""
    return _concat(
        g,
        name,
        _conv(g, x, f"{name}.{stem}a", 384, (1, 3)),
        _conv(g, x, f"{name}.{stem}b", 384, (3, 1)),
    )


def _block_e(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    short = _chain(g, x, name, [("branch3x3_1", 384, 1)])
    long = _chain(g, x, name, [("branch3x3dbl_1", 448, 1), ("branch3x3dbl_2", 384, 3)])
    return _concat(
        g,
        name,
        _chain(g, x, name, [("branch1x1", 320, 1)]),
        _forked(g, short, name, "branch3x3_2"),
        _forked(g, long, name, "branch3x3dbl_3"),
        _pooled(g, x, name, 192),
    )


def build(g: GraphBuilder) -> None:
    x = transform_input(g, image_input(g, 299))
    x = _conv(g, x, "Conv2d_1a_3x3", 32, 3, stride=2, pad=0)
    x = _conv(g, x, "Conv2d_2a_3x3", 32, 3, pad=0)
    x = _conv(g, x, "Conv2d_2b_3x3", 64, 3)
    x = max_pool(g, x, "maxpool1", 3, 2)
    x = _conv(g, x, "Conv2d_3b_1x1", 80, 1)
    x = _conv(g, x, "Conv2d_4a_3x3", 192, 3, pad=0)
    x = max_pool(g, x, "maxpool2", 3, 2)
    for name, pool_channels in (("Mixed_5b", 32), ("Mixed_5c", 64), ("Mixed_5d", 64)):
        x = _block_a(g, x, name, pool_channels)
    x = _block_b(g, x, "Mixed_6a")
    for name, inner in (("Mixed_6b", 128), ("Mixed_6c", 160), ("Mixed_6d", 160), ("Mixed_6e", 192)):
        x = _block_c(g, x, name, inner)
    x = _block_d(g, x, "Mixed_7a")
    x = _block_e(g, x, "Mixed_7b")
    x = _block_e(g, x, "Mixed_7c")
    g.output(classifier(g, global_pool_flat(g, x, "avgpool"), "fc"), "output")
