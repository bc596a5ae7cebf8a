# SPDX-License-Identifier: Apache-2.0
"""DenseNet-121 (arXiv 1608.06993).

Normalisation comes before the convolution here, so exporters cannot fold most
of it: the BatchNormalization after each Concat stays explicit.  So do the Concat
of one input and the Pad by nothing that PyTorch's exporter leaves behind.
"""

import numpy as np
from graph_builder import GraphBuilder, Tensor
from layers import (
    average_pool,
    batch_norm,
    classifier,
    conv,
    conv_norm,
    global_pool_flat,
    image_input,
    max_pool,
    relu,
)

_GROWTH = 32
_BLOCKS = (6, 12, 24, 16)


def _norm_relu(g: GraphBuilder, x: Tensor, norm: str, activation: str) -> Tensor:
    return relu(g, batch_norm(g, x, norm), activation)


def _dense_layer(g: GraphBuilder, features: list[Tensor], name: str) -> Tensor:
    x = g.op("Concat", *features, scope=name, axis=1)
    x = _norm_relu(g, x, f"{name}.norm1", f"{name}.relu1")
    x = relu(g, conv_norm(g, x, f"{name}.conv1", 4 * g.width(_GROWTH), 1), f"{name}.relu2")
    return conv(g, x, f"{name}.conv2", g.width(_GROWTH), 3, bias=False)


def build(g: GraphBuilder) -> None:
    x = image_input(g)
    x = relu(g, conv_norm(g, x, "features.conv0", g.width(64), 7, stride=2), "features.relu0")
    x = max_pool(g, x, "features.pool0", 3, 2, pad=1)
    for block, layers in enumerate(_BLOCKS, start=1):
        name = f"features.denseblock{block}"
        features = [x]
        for layer in range(1, layers + 1):
            features.append(_dense_layer(g, features, f"{name}.denselayer{layer}"))
        x = g.op("Concat", *features, scope=name, axis=1)
        if block < len(_BLOCKS):
            name = f"features.transition{block}"
            x = _norm_relu(g, x, f"{name}.norm", f"{name}.relu")
            x = conv(g, x, f"{name}.conv", x.channels // 2, 1, bias=False)
            x = g.op(
                "Pad",
                x,
                g.constant([0] * 8, f"{name}.pool", np.int64),
                scope=f"{name}.pool",
                mode="constant",
            )
            x = average_pool(g, x, f"{name}.pool", 2, 2)
    x = _norm_relu(g, x, "features.norm5", "relu")
    g.output(classifier(g, global_pool_flat(g, x, "avgpool"), "classifier"), "output")
