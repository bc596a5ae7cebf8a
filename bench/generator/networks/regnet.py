# SPDX-License-Identifier: Apache-2.0
"""RegNetY-400MF (arXiv 2003.13678): grouped convolutions, squeeze and excite."""

from graph_builder import GraphBuilder, Tensor
from layers import classifier, conv_norm, global_pool_flat, image_input, relu, squeeze_excite

_GROUP_WIDTH = 8
# Blocks and channels of each stage, which the paper's rule gives for
# depth 16, w0 = 48, wa = 27.89, wm = 2.09.
_STAGES = ((1, 48), (3, 104), (6, 208), (6, 440))


def _sigmoid(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    return g.op("Sigmoid", x, scope=name)


def _block(g: GraphBuilder, x: Tensor, name: str, channels: int, stride: int) -> Tensor:
    shortcut, gain = x, 0.5
    if stride != 1 or x.channels != channels:
        shortcut, gain = conv_norm(g, x, f"{name}.proj.0", channels, 1, stride=stride), 1.0
    y = relu(g, conv_norm(g, x, f"{name}.f.a.0", channels, 1), f"{name}.f.a.2")
    y = conv_norm(
        g, y, f"{name}.f.b.0", channels, 3, stride=stride, groups=channels // _GROUP_WIDTH
    )
    y = relu(g, y, f"{name}.f.b.2")
    # The squeezed width is a quarter of the block's input, not of its inside.
    y = squeeze_excite(g, y, f"{name}.f.se", round(0.25 * x.channels), relu, _sigmoid)
    y = conv_norm(g, y, f"{name}.f.c.0", channels, 1, gain=gain)
    return relu(g, g.op("Add", shortcut, y, scope=name), f"{name}.activation")


def build(g: GraphBuilder) -> None:
    x = relu(g, conv_norm(g, image_input(g), "stem.0", g.width(32), 3, stride=2), "stem.2")
    for stage, (blocks, channels) in enumerate(_STAGES, start=1):
        for block in range(blocks):
            name = f"trunk_output.block{stage}.block{stage}-{block}"
            x = _block(g, x, name, g.width(channels), 2 if block == 0 else 1)
    g.output(classifier(g, global_pool_flat(g, x, "avgpool"), "fc"), "output")
