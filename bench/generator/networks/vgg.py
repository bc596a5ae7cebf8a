# SPDX-License-Identifier: Apache-2.0
"""VGG-16, configuration D without batch normalisation (arXiv 1409.1556)."""

from graph_builder import GraphBuilder
from layers import average_pool, classifier, conv, gemm, image_input, max_pool, relu

_POOL = 0
_LAYERS = (
    64,
    64,
    _POOL,
    128,
    128,
    _POOL,
    *(256,) * 3,
    _POOL,
    *(512,) * 3,
    _POOL,
    *(512,) * 3,
    _POOL,
)


def build(g: GraphBuilder) -> None:
    x = image_input(g)
    index = 0
    for channels in _LAYERS:
        if channels == _POOL:
            x = max_pool(g, x, f"features.{index}", 2, 2)
            index += 1
        else:
            x = relu(g, conv(g, x, f"features.{index}", g.width(channels), 3), f"features.{index + 1}")
            index += 2
    # Adaptive pooling from 7x7 to 7x7 is exported as a pool of one pixel.
    x = average_pool(g, x, "avgpool", 1, 1)
    x = g.op("Flatten", x, scope="flatten", axis=1)
    x = relu(g, gemm(g, x, "classifier.0", g.width(4096)), "classifier.1")
    x = relu(g, gemm(g, x, "classifier.3", g.width(4096)), "classifier.4")
    g.output(classifier(g, x, "classifier.6"), "output")
