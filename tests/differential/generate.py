# SPDX-License-Identifier: Apache-2.0
"""A random graph from its seed."""

from __future__ import annotations

import numpy as np
import operators_layers
import operators_plain
from graphs import FLOAT, Graph, NoFit

_OPERATORS = operators_plain.OPERATORS + operators_layers.OPERATORS
_WEIGHTS = np.array([weight for weight, _ in _OPERATORS], float)
_WEIGHTS /= _WEIGHTS.sum()


def random_graph(seed: int) -> Graph:
    g = Graph(seed)
    # Mostly images and rows of features, so that layers find something to work on.
    for _ in range(g.integer(1, 2)):
        shape = (g.integer(1, 2), g.integer(1, 17), g.integer(1, 12), g.integer(1, 12))
        g.input(FLOAT, shape if g.chance(0.6) else g.shape(1, 3))
    wanted = g.integer(1, 8 if g.chance(0.5) else 24)
    while len(g.nodes) < wanted:
        _, operator = _OPERATORS[g.rng.choice(len(_OPERATORS), p=_WEIGHTS)]
        try:
            operator(g)
        except NoFit:
            continue
    return g
