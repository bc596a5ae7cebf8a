# SPDX-License-Identifier: Apache-2.0
"""ViT-B/16 at 224x224 (arXiv 2010.11929), the way PyTorch exports torchvision's:
attention with the sequence first, the joint projection sliced at places computed
from its shape, the class token expanded by a Where over its target shape."""

import numpy as np
from graph_builder import Dim, GraphBuilder, Tensor
from layers import classifier, conv, gelu, gemm, image_input, layer_norm, linear
from onnx import numpy_helper

_WIDTH, _HEADS, _LAYERS, _HIDDEN, _PATCH = 768, 12, 12, 3072, 16
_EPSILON = 1e-6
# The share a sub-layer adds to the residual stream; keeps 24 sums near 1.
_BRANCH_GAIN = 0.35


def _swapped(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    """Sequence first from batch first, or back."""
    return g.op("Transpose", x, scope=name, perm=[1, 0, 2])


def _thirds(g: GraphBuilder, x: Tensor, name: str) -> list[Tensor]:
    """Three equal slices of the last axis, as `chunk` is exported."""

    def integers(value: int) -> Tensor:
        return g.constant([value], name, np.int64)

    extent = g.op("Gather", g.op("Shape", x, scope=name), integers(-1), scope=name, axis=0)
    start, axis = integers(0), integers(2)
    third = g.op("Div", g.op("Add", extent, integers(2), scope=name), integers(3), scope=name)
    slices = []
    for part in (1, 2, 3):
        end = g.op("Mul", third, integers(part), scope=name)
        slices.append(g.op("Slice", x, start, end, axis, scope=name))
        start = end
    return slices


def _attention(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    """Self-attention on [N,S,E], by way of [S,N,E] and [N*heads,S,E/heads]."""
    length, head = x.value.shape[1], g.width(_WIDTH) // _HEADS
    x = _swapped(g, x, name)
    query, key, value = (
        g.op("Reshape", part, g.shape_of([length, Dim(1, _HEADS), head], x, name), scope=name)
        for part in _thirds(g, linear(g, x, f"{name}.in_proj", 3 * g.width(_WIDTH)), name)
    )
    query = g.op("Div", _swapped(g, query, name), g.constant(np.sqrt(head), name), scope=name)
    key = g.op("Transpose", key, scope=name, perm=[1, 2, 0])
    scores = g.op("Softmax", g.op("MatMul", query, key, scope=name), scope=name, axis=-1)
    mixed = _swapped(g, g.op("MatMul", scores, _swapped(g, value, name), scope=name), name)
    flat = g.op("Reshape", mixed, g.shape_of([Dim(1, length), g.width(_WIDTH)], x, name), scope=name)
    flat = gemm(g, flat, f"{name}.out_proj", g.width(_WIDTH), gain=_BRANCH_GAIN)
    return _swapped(
        g, g.op("Reshape", flat, g.shape_of([length, Dim(1), g.width(_WIDTH)], x, name), scope=name), name
    )


def _encoder_layer(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    y = layer_norm(g, x, f"{name}.ln_1", _EPSILON)
    x = g.op("Add", _attention(g, y, f"{name}.self_attention"), x, scope=name)
    y = layer_norm(g, x, f"{name}.ln_2", _EPSILON)
    y = gelu(g, linear(g, y, f"{name}.mlp.0", g.width(_HIDDEN)), f"{name}.mlp.1")
    return g.op("Add", x, linear(g, y, f"{name}.mlp.3", g.width(_WIDTH), gain=_BRANCH_GAIN), scope=name)


def _class_token(g: GraphBuilder, patches: Tensor) -> Tensor:
    """The learned token [1,1,E] expanded to [N,1,E]; -1 means "as it is"."""
    scope = "expand"
    target = g.shape_of([Dim(), -1, -1], patches, scope)
    one = numpy_helper.from_array(np.array([1], np.int64))
    ones = g.op("ConstantOfShape", g.constant([3], scope, np.int64), scope=scope, value=one)
    minus = g.op("Mul", ones, g.constant(-1, scope, np.int64), scope=scope)
    shape = g.op("Where", g.op("Equal", target, minus, scope=scope), ones, target, scope=scope)
    token = g.weight("class_token", g.normal(1, 1, g.width(_WIDTH)))
    return g.op("Expand", token, shape, scope=scope)


def build(g: GraphBuilder) -> None:
    x = conv(g, image_input(g), "conv_proj", g.width(_WIDTH), _PATCH, stride=_PATCH, pad=0)
    patches = x.value.shape[2] * x.value.shape[3]
    x = g.op("Reshape", x, g.shape_of([Dim(), g.width(_WIDTH), patches], x, "reshape"), scope="reshape")
    x = g.op("Transpose", x, scope="permute", perm=[0, 2, 1])
    x = g.op("Concat", _class_token(g, x), x, scope="concat", axis=1)
    positions = g.normal(1, patches + 1, g.width(_WIDTH), deviation=0.5)
    x = g.op("Add", x, g.weight("encoder.pos_embedding", positions), scope="encoder")
    for layer in range(_LAYERS):
        x = _encoder_layer(g, x, f"encoder.layers.encoder_layer_{layer}")
    x = layer_norm(g, x, "encoder.ln", _EPSILON)
    x = g.op("Gather", x, g.constant(0, "token", np.int64), scope="token", axis=1)
    g.output(classifier(g, x, "heads.head"), "output")
