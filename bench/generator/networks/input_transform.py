# SPDX-License-Identifier: Apache-2.0
"""The input rescaling that torchvision's pretrained inception networks carry."""

import numpy as np
from graph_builder import GraphBuilder, Tensor

_IMAGENET_MEAN = (0.485, 0.456, 0.406)
_IMAGENET_DEVIATION = (0.229, 0.224, 0.225)


def transform_input(g: GraphBuilder, x: Tensor) -> Tensor:
    """From ImageNet's normalisation to the range -1..1, channel by channel, in
    Gather, Unsqueeze, Mul, Add and a Concat, as it is exported."""
    channels = []
    for index, (mean, deviation) in enumerate(
        zip(_IMAGENET_MEAN, _IMAGENET_DEVIATION, strict=True)
    ):
        scope = "transform_input"
        y = g.op("Gather", x, g.constant(index, scope, np.int64), scope=scope, axis=1)
        y = g.op("Unsqueeze", y, g.constant([1], scope, np.int64), scope=scope)
        y = g.op("Mul", y, g.constant(deviation / 0.5, scope), scope=scope)
        channels.append(g.op("Add", y, g.constant((mean - 0.5) / 0.5, scope), scope=scope))
    return g.op("Concat", *channels, scope="transform_input", axis=1)
