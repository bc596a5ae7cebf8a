# SPDX-License-Identifier: Apache-2.0
"""MobileNetV3-Large (arXiv 1905.02244).

Hard-swish appears in both forms that exporters write: as the HardSwish operator
(opset 14 on) up to the 112-channel stage, and decomposed into Add, Clip, Div and
Mul (older exports) from there on.
"""

from graph_builder import GraphBuilder, Tensor
from layers import (
    classifier,
    conv_norm,
    gemm,
    global_pool_flat,
    hard_sigmoid,
    hard_swish,
    hard_swish_decomposed,
    image_input,
    relu,
    squeeze_excite,
)

# Kernel, expanded channels, output channels, squeeze and excite, hard-swish,
# stride: the paper's Table 1.
_BLOCKS = (
    (3, 16, 16, False, False, 1),
    (3, 64, 24, False, False, 2),
    (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2),
    (5, 120, 40, True, False, 1),
    (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2),
    (3, 200, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 480, 112, True, True, 1),
    (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2),
    (5, 960, 160, True, True, 1),
    (5, 960, 160, True, True, 1),
)
_FIRST_DECOMPOSED = 13  # the block number from which hard-swish is decomposed


def _multiple_of_8(channels: float) -> int:
    """Rounds to a multiple of 8, but not down by more than a tenth."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


def _block(g: GraphBuilder, x: Tensor, index: int, activation) -> Tensor:
    kernel, expanded, channels, excite, _, stride = _BLOCKS[index - 1]
    expanded, channels = g.width(expanded), g.width(channels)
    y, name, part = x, f"features.{index}.block", 0
    if expanded != x.channels:
        y = activation(g, conv_norm(g, y, f"{name}.0.0", expanded, 1), f"{name}.0.2")
        part = 1
    y = conv_norm(g, y, f"{name}.{part}.0", expanded, kernel, stride=stride, groups=expanded)
    y = activation(g, y, f"{name}.{part}.2")
    if excite:
        part += 1
        y = squeeze_excite(
            g, y, f"{name}.{part}", _multiple_of_8(expanded // 4), relu, hard_sigmoid
        )
    residual = stride == 1 and x.channels == channels
    y = conv_norm(g, y, f"{name}.{part + 1}.0", channels, 1, gain=0.5 if residual else 1.0)
    return g.op("Add", y, x, scope=f"features.{index}") if residual else y


def build(g: GraphBuilder) -> None:
    x = hard_swish(g, conv_norm(g, image_input(g), "features.0.0", g.width(16), 3, stride=2), "features.0.2")
    for index, (_, _, _, _, swish, _) in enumerate(_BLOCKS, start=1):
        activation = relu
        if swish:
            activation = hard_swish if index < _FIRST_DECOMPOSED else hard_swish_decomposed
        x = _block(g, x, index, activation)
    x = hard_swish_decomposed(g, conv_norm(g, x, "features.16.0", g.width(960), 1), "features.16.2")
    x = global_pool_flat(g, x, "avgpool")
    x = hard_swish_decomposed(g, gemm(g, x, "classifier.0", g.width(1280)), "classifier.1")
    g.output(classifier(g, x, "classifier.3"), "output")
