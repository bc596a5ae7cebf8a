# SPDX-License-Identifier: Apache-2.0
"""BERT-Base, uncased vocabulary (arXiv 1810.04805), at 128 tokens, the way the
usual encoder is exported: the head split and the position ids take their shapes
from the input at run time, in chains of Shape, Gather, Unsqueeze and Concat."""

import calibration_inputs
import numpy as np
from graph_builder import CALIBRATION_BATCH, Dim, GraphBuilder, Tensor
from layers import gelu, gemm, layer_norm, linear

_WIDTH, _HEADS, _LAYERS, _HIDDEN = 768, 12, 12, 3072
_VOCABULARY, _POSITIONS, _LENGTH = 30522, 512, 128
_EPSILON = 1e-12


def _ints(g: GraphBuilder, value, name: str) -> Tensor:
    return g.constant(value, name, np.int64)


def _embeddings(g: GraphBuilder, ids: Tensor, types: Tensor) -> Tensor:
    name = "embeddings"
    words = g.weight(f"{name}.word_embeddings.weight", g.normal(g.width(_VOCABULARY), g.width(_WIDTH)))
    kinds = g.weight(f"{name}.token_type_embeddings.weight", g.normal(2, g.width(_WIDTH), deviation=0.3))
    places = g.weight(
        f"{name}.position_embeddings.weight", g.normal(_POSITIONS, g.width(_WIDTH), deviation=0.5)
    )
    counting = np.arange(_POSITIONS, dtype=np.int64)[None]
    counting = g.weight(f"{name}.position_ids", counting, learned=False)

    length = g.op("Gather", g.op("Shape", ids, scope=name), _ints(g, 1, name), scope=name, axis=0)
    length = g.op("Unsqueeze", length, _ints(g, [0], name), scope=name)
    axis, step = _ints(g, [1], name), _ints(g, [1], name)
    position_ids = g.op("Slice", counting, _ints(g, [0], name), length, axis, step, scope=name)

    x = g.op("Gather", words, ids, scope=f"{name}.word_embeddings", axis=0)
    y = g.op("Gather", kinds, types, scope=f"{name}.token_type_embeddings", axis=0)
    x = g.op("Add", x, y, scope=name)
    y = g.op("Gather", places, position_ids, scope=f"{name}.position_embeddings", axis=0)
    return layer_norm(g, g.op("Add", x, y, scope=name), f"{name}.LayerNorm", _EPSILON)


def _mask(g: GraphBuilder, mask: Tensor) -> Tensor:
    """0 where the mask [N,S] is 1, the lowest float where it is 0: [N,1,1,S]."""
    name = "mask"
    x = g.op("Unsqueeze", mask, _ints(g, [1], name), scope=name)
    x = g.op("Unsqueeze", x, _ints(g, [2], name), scope=name)
    x = g.op("Cast", x, scope=name, to=1)
    x = g.op("Sub", g.constant(1.0, name), x, scope=name)
    return g.op("Mul", x, g.constant(np.finfo(np.float32).min, name), scope=name)


def _heads(g: GraphBuilder, x: Tensor, name: str, perm: list[int]) -> Tensor:
    """[N,S,E] to [N,S,heads,E/heads], then permuted."""
    shape = g.shape_of([Dim(0), Dim(1), _HEADS, g.width(_WIDTH) // _HEADS], x, name, constant=False)
    return g.op("Transpose", g.op("Reshape", x, shape, scope=name), scope=name, perm=perm)


def _attention(g: GraphBuilder, x: Tensor, mask: Tensor, name: str) -> Tensor:
    # Queries twice as large make the softmax choose, where 1 would average.
    query = _heads(g, linear(g, x, f"{name}.query", g.width(_WIDTH), gain=2.0), name, [0, 2, 1, 3])
    key = _heads(g, linear(g, x, f"{name}.key", g.width(_WIDTH)), name, [0, 2, 3, 1])
    value = _heads(g, linear(g, x, f"{name}.value", g.width(_WIDTH)), name, [0, 2, 1, 3])
    scores = g.op("MatMul", query, key, scope=name)
    scores = g.op("Div", scores, g.constant(np.sqrt(g.width(_WIDTH) // _HEADS), name), scope=name)
    scores = g.op("Softmax", g.op("Add", scores, mask, scope=name), scope=name, axis=-1)
    mixed = g.op("MatMul", scores, value, scope=name)
    mixed = g.op("Transpose", mixed, scope=name, perm=[0, 2, 1, 3])
    shape = g.shape_of([Dim(0), Dim(1), g.width(_WIDTH)], mixed, name, constant=False)
    return g.op("Reshape", mixed, shape, scope=name)


def _layer(g: GraphBuilder, x: Tensor, mask: Tensor, name: str) -> Tensor:
    y = _attention(g, x, mask, f"{name}.attention.self")
    y = linear(g, y, f"{name}.attention.output.dense", g.width(_WIDTH), gain=0.7)
    y = g.op("Add", y, x, scope=f"{name}.attention.output")
    x = layer_norm(g, y, f"{name}.attention.output.LayerNorm", _EPSILON)
    y = linear(g, x, f"{name}.intermediate.dense", g.width(_HIDDEN))
    y = gelu(g, y, f"{name}.intermediate.intermediate_act_fn")
    y = linear(g, y, f"{name}.output.dense", g.width(_WIDTH), gain=0.7)
    return layer_norm(
        g, g.op("Add", y, x, scope=f"{name}.output"), f"{name}.output.LayerNorm", _EPSILON
    )


def build(g: GraphBuilder) -> None:
    values = calibration_inputs.tokens(g.rng, CALIBRATION_BATCH, _LENGTH, g.width(_VOCABULARY))
    inputs = {name: g.input(name, value) for name, value in values.items()}
    mask = _mask(g, inputs["attention_mask"])
    x = _embeddings(g, inputs["input_ids"], inputs["token_type_ids"])
    for layer in range(_LAYERS):
        x = _layer(g, x, mask, f"encoder.layer.{layer}")
    first = g.op("Gather", x, _ints(g, 0, "pooler"), scope="pooler", axis=1)
    pooled = g.op("Tanh", gemm(g, first, "pooler.dense", g.width(_WIDTH)), scope="pooler.activation")
    g.output(x, "last_hidden_state")
    g.output(pooled, "pooler_output")
