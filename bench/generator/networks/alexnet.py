# SPDX-License-Identifier: Apache-2.0
"""AlexNet in its one-column form (Krizhevsky, arXiv 1404.5997)."""

from graph_builder import GraphBuilder
from layers import average_pool, classifier, conv, gemm, image_input, max_pool, relu


def build(g: GraphBuilder) -> None:
    x = image_input(g)
    x = relu(g, conv(g, x, "features.0", g.width(64), 11, stride=4, pad=2), "features.1")
    x = max_pool(g, x, "features.2", 3, 2)
    x = relu(g, conv(g, x, "features.3", g.width(192), 5), "features.4")
    x = max_pool(g, x, "features.5", 3, 2)
    x = relu(g, conv(g, x, "features.6", g.width(384), 3), "features.7")
    x = relu(g, conv(g, x, "features.8", g.width(256), 3), "features.9")
    x = relu(g, conv(g, x, "features.10", g.width(256), 3), "features.11")
    x = max_pool(g, x, "features.12", 3, 2)
    # Adaptive pooling from 6x6 to 6x6 is exported as a pool of one pixel.
    x = average_pool(g, x, "avgpool", 1, 1)
    x = g.op("Flatten", x, scope="flatten", axis=1)
    x = relu(g, gemm(g, x, "classifier.1", g.width(4096)), "classifier.2")
    x = relu(g, gemm(g, x, "classifier.4", g.width(4096)), "classifier.5")
    g.output(classifier(g, x, "classifier.6"), "output")
