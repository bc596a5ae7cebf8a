# SPDX-License-Identifier: Apache-2.0
"""ResNet-18 and ResNet-50 (arXiv 1512.03385), with the stride of a bottleneck
on its 3x3 convolution, as torchvision has it ("v1.5")."""

from graph_builder import GraphBuilder, Tensor
from layers import classifier, conv_norm, global_pool_flat, image_input, max_pool, relu


def _shortcut(
    g: GraphBuilder, x: Tensor, name: str, channels: int, stride: int
) -> tuple[Tensor, float]:
    """The other way round a block, and the gain for the block's last layer: a
    half beside an identity, so that the sum does not grow from block to block."""
    if stride == 1 and x.channels == channels:
        return x, 0.5
    return conv_norm(g, x, f"{name}.downsample.0", channels, 1, stride=stride), 1.0


def basic_block(g: GraphBuilder, x: Tensor, name: str, width: int, stride: int) -> Tensor:
    y = relu(g, conv_norm(g, x, f"{name}.conv1", width, 3, stride=stride), f"{name}.relu")
    shortcut, gain = _shortcut(g, x, name, width, stride)
    y = conv_norm(g, y, f"{name}.conv2", width, 3, gain=gain)
    return relu(g, g.op("Add", y, shortcut, scope=name), f"{name}.relu")


def _bottleneck(g: GraphBuilder, x: Tensor, name: str, width: int, stride: int) -> Tensor:
    y = relu(g, conv_norm(g, x, f"{name}.conv1", width, 1), f"{name}.relu")
    y = relu(g, conv_norm(g, y, f"{name}.conv2", width, 3, stride=stride), f"{name}.relu")
    shortcut, gain = _shortcut(g, x, name, 4 * width, stride)
    y = conv_norm(g, y, f"{name}.conv3", 4 * width, 1, gain=gain)
    return relu(g, g.op("Add", y, shortcut, scope=name), f"{name}.relu")


def _build(g: GraphBuilder, block, depths: tuple[int, int, int, int]) -> None:
    x = relu(g, conv_norm(g, image_input(g), "conv1", g.width(64), 7, stride=2), "relu")
    x = max_pool(g, x, "maxpool", 3, 2, pad=1)
    for stage, depth in enumerate(depths):
        for index in range(depth):
            stride = 2 if stage > 0 and index == 0 else 1
            x = block(g, x, f"layer{stage + 1}.{index}", g.width(64 << stage), stride)
    g.output(classifier(g, global_pool_flat(g, x, "avgpool"), "fc"), "output")


def build_resnet18(g: GraphBuilder) -> None:
    _build(g, basic_block, (2, 2, 2, 2))


def build_resnet50(g: GraphBuilder) -> None:
    _build(g, _bottleneck, (3, 4, 6, 3))
