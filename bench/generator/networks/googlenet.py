# SPDX-License-Identifier: Apache-2.0
"""GoogLeNet, Inception v1 (arXiv 1409.4842), in torchvision's form: batch
normalisation (left explicit here), and 3x3 where the paper has 5x5."""

from graph_builder import GraphBuilder, Tensor
from layers import batch_norm, classifier, conv, global_pool_flat, image_input, max_pool, relu

from networks.input_transform import transform_input

# Output channels: 1x1; 3x3 reduced and full; "5x5" reduced and full; pool.
_STAGES = (
    ("3a", 64, 96, 128, 16, 32, 32),
    ("3b", 128, 128, 192, 32, 96, 64),
    ("maxpool3", 3),
    ("4a", 192, 96, 208, 16, 48, 64),
    ("4b", 160, 112, 224, 24, 64, 64),
    ("4c", 128, 128, 256, 24, 64, 64),
    ("4d", 112, 144, 288, 32, 64, 64),
    ("4e", 256, 160, 320, 32, 128, 128),
    ("maxpool4", 2),
    ("5a", 256, 160, 320, 32, 128, 128),
    ("5b", 384, 192, 384, 48, 128, 128),
)


def _conv(
    g: GraphBuilder, x: Tensor, name: str, channels: int, kernel: int, stride: int = 1
) -> Tensor:
    x = conv(g, x, f"{name}.conv", g.width(channels), kernel, stride=stride, bias=False)
    return relu(g, batch_norm(g, x, f"{name}.bn", epsilon=1e-3), name)


def _inception(g: GraphBuilder, x: Tensor, name: str, sizes: tuple[int, ...]) -> Tensor:
    one, three_reduced, three, five_reduced, five, pooled = sizes
    branches = [
        _conv(g, x, f"{name}.branch1", one, 1),
        _conv(g, _conv(g, x, f"{name}.branch2.0", three_reduced, 1), f"{name}.branch2.1", three, 3),
        _conv(g, _conv(g, x, f"{name}.branch3.0", five_reduced, 1), f"{name}.branch3.1", five, 3),
    ]
    y = max_pool(g, x, f"{name}.branch4.0", 3, 1, pad=1, ceil=True)
    branches.append(_conv(g, y, f"{name}.branch4.1", pooled, 1))
    return g.op("Concat", *branches, scope=name, axis=1)


def build(g: GraphBuilder) -> None:
    x = transform_input(g, image_input(g))
    x = _conv(g, x, "conv1", 64, 7, stride=2)
    x = max_pool(g, x, "maxpool1", 3, 2, ceil=True)
    x = _conv(g, x, "conv2", 64, 1)
    x = _conv(g, x, "conv3", 192, 3)
    x = max_pool(g, x, "maxpool2", 3, 2, ceil=True)
    for name, *sizes in _STAGES:
        if name.startswith("maxpool"):
            x = max_pool(g, x, name, sizes[0], 2, ceil=True)
        else:
            x = _inception(g, x, f"inception{name}", tuple(sizes))
    g.output(classifier(g, global_pool_flat(g, x, "avgpool"), "fc"), "output")
