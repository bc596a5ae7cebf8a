# SPDX-License-Identifier: Apache-2.0
"""EfficientNet-B0 (arXiv 1905.11946); SiLU as Sigmoid and Mul, as exported."""

from graph_builder import GraphBuilder, Tensor
from layers import classifier, conv_norm, global_pool_flat, image_input, silu, squeeze_excite

# Expansion, kernel, stride of the first, output channels, repeats: Table 1.
_STAGES = (
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)


def _sigmoid(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    return g.op("Sigmoid", x, scope=name)


def _block(
    g: GraphBuilder, x: Tensor, name: str, expansion: int, kernel: int, stride: int, channels: int
) -> Tensor:
    y, part = x, 0
    if expansion != 1:
        y = silu(
            g, conv_norm(g, y, f"{name}.block.0.0", x.channels * expansion, 1), f"{name}.block.0.2"
        )
        part = 1
    y = conv_norm(
        g, y, f"{name}.block.{part}.0", y.channels, kernel, stride=stride, groups=y.channels
    )
    y = silu(g, y, f"{name}.block.{part}.2")
    y = squeeze_excite(g, y, f"{name}.block.{part + 1}", x.channels // 4, silu, _sigmoid)
    residual = stride == 1 and x.channels == channels
    y = conv_norm(g, y, f"{name}.block.{part + 2}.0", channels, 1, gain=0.5 if residual else 1.0)
    return g.op("Add", y, x, scope=name) if residual else y


def build(g: GraphBuilder) -> None:
    x = silu(g, conv_norm(g, image_input(g), "features.0.0", g.width(32), 3, stride=2), "features.0.2")
    for stage, (expansion, kernel, stride, channels, repeats) in enumerate(_STAGES, start=1):
        for block in range(repeats):
            name = f"features.{stage}.{block}"
            x = _block(g, x, name, expansion, kernel, stride if block == 0 else 1, g.width(channels))
    x = silu(g, conv_norm(g, x, "features.8.0", g.width(1280), 1), "features.8.2")
    g.output(classifier(g, global_pool_flat(g, x, "avgpool"), "classifier.1"), "output")
