# SPDX-License-Identifier: Apache-2.0
"""Element-wise operators, reductions, shapes and movements."""

from __future__ import annotations

import math

import numpy as np
from graphs import (
    BFLOAT,
    BOOL,
    DOUBLE,
    FLOAT,
    FLOATS,
    HALF,
    I8,
    I32,
    I64,
    INTEGERS,
    U8,
    Graph,
    NoFit,
    Value,
)

NUMBERS = (FLOAT, HALF, DOUBLE, I32, I64)


def positive(g: Graph, x: Value) -> Value:
    """Away from 0, where logarithms and quotients are steep."""
    return g.add("Add", [g.like("Abs", x), g.constant(0.5, x.type)], [(x.type, x.shape)])


# ------------------------------------------------------------------------- element by element

_SMOOTH = "Relu Sigmoid Tanh Softplus Softsign Erf HardSigmoid Elu Selu LeakyRelu Neg Abs Identity"
_FLOAT32 = "Sin Cos Atan Asinh Ceil Floor Round Sign Celu ThresholdedRelu Exp"


def unary(g: Graph) -> None:
    op = g.choice(_SMOOTH.split())
    x = g.any(FLOATS if op not in ("Neg", "Abs", "Identity") else NUMBERS)
    attributes = {}
    if op in ("LeakyRelu", "Elu") and g.chance(0.5):
        attributes["alpha"] = float(g.choice((0.01, 0.1, 0.3)))
    if op == "HardSigmoid" and g.chance(0.5):
        attributes = {"alpha": 0.1, "beta": 0.4}
    g.like(op, x, **attributes)


def unary_float(g: Graph) -> None:
    x = g.any((FLOAT,))
    op = g.choice(_FLOAT32.split())
    if op == "Exp":
        x = g.like("Tanh", x)
    alpha = float(g.choice((0.5, 1.0, 2.0))) if op in ("Celu", "ThresholdedRelu") else None
    g.like(op, x, alpha=alpha)


def newer_activation(g: Graph) -> None:
    if g.opset >= 14:
        g.like("HardSwish", g.any((FLOAT,)))
    if g.opset >= 18:
        g.like("Mish", g.any((FLOAT,)))
    if g.opset >= 20:
        g.like("Gelu", g.any((FLOAT,)), approximate=g.choice(("none", "tanh")))


def logarithm(g: Graph) -> None:
    g.like(g.choice(("Log", "Sqrt", "Reciprocal")), positive(g, g.any((FLOAT,))))


def clip(g: Graph) -> None:
    x = g.any((FLOAT, HALF, I32, I64))
    low, high = sorted(g.rng.normal(0, 3, 2))
    bounds = [g.constant(np.trunc(low) if x.type in INTEGERS else low, x.type)]
    bounds.append(g.constant(np.trunc(high) if x.type in INTEGERS else high, x.type))
    drop = g.integer(0, 3)
    if drop == 0:
        bounds = bounds[:1]
    elif drop == 1:
        bounds[0] = None
    g.add("Clip", [x, *bounds], [(x.type, x.shape)])


def _second(g: Graph, x: Value) -> tuple[Value, tuple[int, ...]]:
    """Another operand, which broadcasts with x."""
    others = [v for v in g.values if v.type == x.type and _broadcast(v.shape, x.shape) is not None]
    if others and g.chance(0.5):
        y = g.choice(others)
    else:
        y = g.random(x.type, g.broadcast_shape(x.shape))
    return y, _broadcast(x.shape, y.shape)


def _broadcast(a: tuple, b: tuple) -> tuple | None:
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


def binary(g: Graph) -> None:
    x = g.any(NUMBERS)
    y, shape = _second(g, x)
    operands = [x, y][:: g.choice((1, -1))]
    g.add(g.choice(("Add", "Sub", "Mul", "Add", "Mul")), operands, [(x.type, shape)])


def divide(g: Graph) -> None:
    x = g.any((FLOAT, DOUBLE))
    y, shape = _second(g, x)
    g.add("Div", [x, positive(g, y)], [(x.type, shape)])


def divide_integers(g: Graph) -> None:
    x = g.any((I32, I64))
    y = g.constant(g.rng.integers(1, 6, g.broadcast_shape(x.shape)) * g.choice((1, -1)), x.type)
    op = g.choice(("Div", "Mod"))
    g.add(op, [x, y], [(x.type, x.shape)])


def extremes(g: Graph) -> None:
    x = g.any((FLOAT, DOUBLE, I32, I64))
    y, shape = _second(g, x)
    operands, kinds = [x, y], ("Max", "Min", "Sum", "Mean") if x.type in FLOATS else ("Max", "Min")
    if g.chance(0.3):
        z = g.random(x.type, g.broadcast_shape(shape))
        operands.append(z)
    g.add(g.choice(kinds), operands, [(x.type, shape)])


def power(g: Graph) -> None:
    x = g.any((FLOAT,))
    if g.chance(0.5):
        g.add("Pow", [x, g.constant(float(g.choice((1, 2, 3))), FLOAT)], [(FLOAT, x.shape)])
    else:
        exponent = g.constant(float(g.choice((0.5, -1, 1.5))), FLOAT)
        g.add("Pow", [positive(g, x), exponent], [(FLOAT, x.shape)])


def prelu(g: Graph) -> None:
    x = g.any((FLOAT,), 1)
    slope = g.random(FLOAT, g.broadcast_shape(x.shape))
    g.add("PRelu", [x, slope], [(FLOAT, x.shape)])


def compare(g: Graph) -> None:
    x = g.any((FLOAT, I32, I64))
    y, shape = _second(g, x)
    ops = ("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal")
    g.add(g.choice(ops), [x, y], [(BOOL, shape)])


def logic(g: Graph) -> None:
    x = g.any((BOOL,))
    if g.chance(0.3):
        g.like("Not", x)
        return
    y, shape = _second(g, x)
    g.add(g.choice(("And", "Or", "Xor")), [x, y], [(BOOL, shape)])


def where(g: Graph) -> None:
    x = g.any((FLOAT, I64))
    y, shape = _second(g, x)
    conditions = [v for v in g.values if v.type == BOOL and _broadcast(v.shape, shape) is not None]
    condition = g.choice(conditions) if conditions else g.random(BOOL, g.broadcast_shape(shape))
    g.add("Where", [condition, x, y], [(x.type, _broadcast(condition.shape, shape))])


def bits(g: Graph) -> None:
    if g.opset < 18:
        raise NoFit
    x = g.any((I32, I64, U8))
    y, shape = _second(g, x)
    g.add(g.choice(("BitwiseAnd", "BitwiseOr", "BitwiseXor")), [x, y], [(x.type, shape)])


def cast(g: Graph) -> None:
    x = g.any((FLOAT, HALF, DOUBLE, I32, I64, BOOL, U8, I8))
    to = g.choice((FLOAT, FLOAT, HALF, DOUBLE, I32, I64, BOOL))
    if x.type in FLOATS and to in (I32, I64):
        bounds = [g.constant(-1000, x.type), g.constant(1000, x.type)]
        if x.type != DOUBLE:
            x = g.add("Clip", [x, *bounds], [(x.type, x.shape)])
    g.add("Cast", [x], [(to, x.shape)], to=to)


def round_trip(g: Graph) -> None:
    """Through a narrow type and back: the rounding is part of the model."""
    x = g.any((FLOAT,))
    if g.chance(0.2):
        factor = g.constant(float(g.choice((1e4, 1e5))), FLOAT)
        x = g.add("Mul", [x, factor], [(FLOAT, x.shape)])
    narrow = g.choice((HALF, HALF, BFLOAT))
    y = g.add("Cast", [x], [(narrow, x.shape)], to=narrow)
    g.add("Cast", [y], [(FLOAT, x.shape)], to=FLOAT)


# --------------------------------------------------------------------------------- reductions

_REDUCTIONS = (
    "ReduceMean ReduceSum ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSumExp"
    " ReduceProd"
).split()


def reduce(g: Graph) -> None:
    op = g.choice(_REDUCTIONS)
    x = g.any((FLOAT,) if g.chance(0.8) else (I32, I64, DOUBLE), 1, fits=lambda v: v.elements > 0)
    if x.type in (I32, I64) and op not in ("ReduceSum", "ReduceMax", "ReduceMin"):
        op = "ReduceSum"
    if x.type == DOUBLE:
        op = "ReduceSum"
    if op == "ReduceProd" and x.elements > 16:
        op = "ReduceMax"  # long products overflow, or not, by the order of their factors
    count = g.integer(0, x.rank)
    axes = sorted(int(a) for a in g.rng.choice(x.rank, count, replace=False))
    keep = g.integer(0, 1)
    reduced = set(axes) if axes else set(range(x.rank))
    shape = tuple(
        1 if i in reduced else d for i, d in enumerate(x.shape) if keep or i not in reduced
    )
    written = [a - x.rank if g.chance(0.3) else a for a in axes]
    if g.opset >= (13 if op == "ReduceSum" else 18):
        inputs = [x, g.constant(np.array(written, np.int64))] if axes else [x]
        g.add(op, inputs, [(x.type, shape)], keepdims=keep)
    else:
        g.add(op, [x], [(x.type, shape)], keepdims=keep, axes=written or None)


def arg_extreme(g: Graph) -> None:
    x = g.any((FLOAT, I32), 1, fits=lambda v: v.elements > 0)
    axis, keep = g.integer(-x.rank, x.rank - 1), g.integer(0, 1)
    at = axis % x.rank
    shape = x.shape[:at] + ((1,) if keep else ()) + x.shape[at + 1 :]
    last = g.integer(0, 1)
    g.add(
        g.choice(("ArgMax", "ArgMin")), [x], [(I64, shape)],
        axis=axis, keepdims=keep, select_last_index=last,
    )  # fmt: skip


def cumulative_sum(g: Graph) -> None:
    x = g.any((FLOAT, I32), 1)
    axis = g.constant(g.integer(-x.rank, x.rank - 1), I64)
    options = {"exclusive": g.integer(0, 1), "reverse": g.integer(0, 1)}
    g.add("CumSum", [x, axis], [(x.type, x.shape)], **options)


def top_k(g: Graph) -> None:
    x = g.any((FLOAT,), 1, fits=lambda v: v.elements > 0)
    axis = g.integer(-x.rank, x.rank - 1)
    k = g.integer(1, x.shape[axis])
    shape = list(x.shape)
    shape[axis] = k
    outputs = [(FLOAT, tuple(shape)), (I64, tuple(shape))]
    count = g.constant(np.array([k], np.int64))
    g.add("TopK", [x, count], outputs, axis=axis, largest=g.integer(0, 1), sorted=1)


# ---------------------------------------------------------------------------- shapes, movements

ANY = (FLOAT, HALF, DOUBLE, I32, I64, U8, I8, BOOL)


def _factors(g: Graph, elements: int) -> tuple[int, ...]:
    dims, left = [], elements
    while left > 1 and len(dims) < 4:
        divisors = [d for d in range(1, left + 1) if left % d == 0][:12]
        d = g.choice(divisors)
        dims.append(d)
        left //= d
    return (*dims, left) if left != 1 or g.chance(0.5) or not dims else tuple(dims)


def reshape(g: Graph) -> None:
    x = g.any(ANY)
    shape = _factors(g, x.elements) if x.elements else x.shape
    written = list(shape)
    if written and x.elements and g.chance(0.5):
        written[g.integer(0, len(written) - 1)] = -1
    if x.rank and written and x.shape[0] == written[0] and g.chance(0.3):
        written[0] = 0
    g.add("Reshape", [x, g.constant(np.array(written, np.int64))], [(x.type, shape)])


def reshape_computed(g: Graph) -> None:
    """Shape, Gather, Concat, Reshape, as exporters write it."""
    x = g.any(ANY, 1, fits=lambda v: v.elements > 0)
    shape = g.add("Shape", [x], [(I64, (x.rank,))])
    first = g.add("Gather", [shape, g.constant(np.array([0], np.int64))], [(I64, (1,))], axis=0)
    rest = g.constant(np.array([-1], np.int64))
    target = g.add("Concat", [first, rest], [(I64, (2,))], axis=0)
    g.add("Reshape", [x, target], [(x.type, (x.shape[0], x.elements // x.shape[0]))])


def flatten(g: Graph) -> None:
    x = g.any((FLOAT, I32, U8))
    axis = g.integer(0, x.rank)
    shape = (math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
    if axis < x.rank and g.chance(0.3):
        axis -= x.rank
    g.add("Flatten", [x], [(x.type, shape)], axis=axis)


def squeeze(g: Graph) -> None:
    x = g.any(ANY, 1, fits=lambda v: 1 in v.shape)
    ones = [i for i, d in enumerate(x.shape) if d == 1]
    axes = sorted(g.rng.choice(ones, g.integer(1, len(ones)), replace=False).tolist())
    shape = tuple(d for i, d in enumerate(x.shape) if i not in axes)
    g.add("Squeeze", [x, g.constant(np.array(axes, np.int64))], [(x.type, shape)])


def unsqueeze(g: Graph) -> None:
    x = g.any(ANY, 0, 4)
    axis = g.integer(0, x.rank)
    shape = x.shape[:axis] + (1,) + x.shape[axis:]
    written = axis - x.rank - 1 if g.chance(0.3) else axis
    g.add("Unsqueeze", [x, g.constant(np.array([written], np.int64))], [(x.type, shape)])


def transpose(g: Graph) -> None:
    x = g.any(ANY, 1)
    order = g.rng.permutation(x.rank).tolist()
    if g.chance(0.1):
        g.add("Transpose", [x], [(x.type, x.shape[::-1])])
    else:
        g.add("Transpose", [x], [(x.type, tuple(x.shape[i] for i in order))], perm=order)


def expand(g: Graph) -> None:
    x = g.any(ANY, 0, 4)
    shape = tuple(g.integer(2, 4) if d == 1 and g.chance(0.5) else d for d in x.shape)
    if g.chance(0.3):
        shape = (g.integer(1, 3), *shape)
    written = [1 if g.chance(0.2) else d for d in shape]
    final = np.broadcast_shapes(x.shape, tuple(written))
    g.add("Expand", [x, g.constant(np.array(written, np.int64))], [(x.type, final)])


def tile(g: Graph) -> None:
    x = g.any((FLOAT, I32, BOOL, HALF), 1)
    times = [g.choice((1, 1, 2, 3)) for _ in x.shape]
    shape = tuple(d * t for d, t in zip(x.shape, times, strict=True))
    g.add("Tile", [x, g.constant(np.array(times, np.int64))], [(x.type, shape)])


def concat(g: Graph) -> None:
    x = g.any(ANY, 1)
    axis = g.integer(-x.rank, x.rank - 1)
    alike = [v for v in g.values if v.type == x.type and v.rank == x.rank]
    alike = [v for v in alike if _others(v.shape, axis) == _others(x.shape, axis)]
    parts = [x] + [g.choice(alike) for _ in range(g.integer(0, 2))]
    if g.chance(0.5):
        shape = list(x.shape)
        shape[axis] = g.integer(1, 4)
        parts.append(g.random(x.type, tuple(shape)))
    shape = list(x.shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    g.add("Concat", parts, [(x.type, tuple(shape))], axis=axis)


def _others(shape: tuple, axis: int) -> tuple:
    at = axis % len(shape)
    return shape[:at] + shape[at + 1 :]


def split(g: Graph) -> None:
    x = g.any((FLOAT, I64, HALF, U8), 1, fits=lambda v: max(v.shape, default=0) >= 2)
    axis = g.choice([i for i, d in enumerate(x.shape) if d >= 2])
    first = g.integer(1, x.shape[axis] - 1)
    sizes = [first, x.shape[axis] - first]
    shapes = [x.shape[:axis] + (s,) + x.shape[axis + 1 :] for s in sizes]
    inputs = [x, g.constant(np.array(sizes, np.int64))]
    g.add("Split", inputs, [(x.type, s) for s in shapes], axis=axis)


def slice_(g: Graph) -> None:
    x = g.any(ANY, 1)
    axes = sorted(g.rng.choice(x.rank, g.integer(1, x.rank), replace=False).tolist())
    starts, ends, steps, shape = [], [], [], list(x.shape)
    for axis in axes:
        size = x.shape[axis]
        start, end = g.integer(-size - 1, size + 1), g.integer(-size - 1, size + 1)
        step = g.choice((1, 1, 1, 2, -1, -2, 3))
        if g.chance(0.3):
            end = 2**31 if step > 0 else -(2**31)
        starts.append(start)
        ends.append(end)
        steps.append(step)
        shape[axis] = _slice_size(size, start, end, step)
    if 0 in shape and not g.with_empty:
        raise NoFit
    arrays = [np.array(a, np.int64) for a in (starts, ends, axes, steps)]
    g.add("Slice", [x, *map(g.constant, arrays)], [(x.type, tuple(shape))])


def _slice_size(size: int, start: int, end: int, step: int) -> int:
    start, end = (v + size if v < 0 else v for v in (start, end))
    if step > 0:
        start, end = min(max(start, 0), size), min(max(end, 0), size)
    else:
        start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    return max(0, -(-(end - start) // step))


def gather(g: Graph) -> None:
    x = g.any(ANY, 1, fits=lambda v: v.elements > 0)
    axis = g.integer(-x.rank, x.rank - 1)
    size = x.shape[axis]
    index = g.constant(g.rng.integers(-size, size, g.shape(0, 2)), g.choice((I32, I64)))
    at = axis % x.rank
    shape = x.shape[:at] + index.shape + x.shape[at + 1 :]
    g.add("Gather", [x, index], [(x.type, shape)], axis=axis)


def gather_elements(g: Graph) -> None:
    x = g.any((FLOAT, I32, I64), 1, fits=lambda v: v.elements > 0)
    axis = g.integer(-x.rank, x.rank - 1)
    # ONNX allows fewer elsewhere; ONNX Runtime wants no more than the input has on any axis.
    shape = tuple(g.integer(1, d) for d in x.shape)
    size = x.shape[axis]
    index = g.constant(g.rng.integers(-size, size, shape), I64)
    g.add("GatherElements", [x, index], [(x.type, shape)], axis=axis)


def scatter_elements(g: Graph) -> None:
    x = g.any((FLOAT, I32), 1, 3, fits=lambda v: v.elements > 0)
    axis = g.integer(0, x.rank - 1)
    # Without repeated targets: their order is open.
    chosen = g.rng.permutation(x.shape[axis])[: g.integer(1, x.shape[axis])]
    shape = x.shape[:axis] + (len(chosen),) + x.shape[axis + 1 :]
    places = chosen.reshape([-1 if i == axis else 1 for i in range(x.rank)])
    index = g.constant(np.broadcast_to(places, shape).copy(), I64)
    g.add("ScatterElements", [x, index, g.random(x.type, shape)], [(x.type, x.shape)], axis=axis)


def gather_nd(g: Graph) -> None:
    x = g.any((FLOAT, I64), 1, fits=lambda v: v.elements > 0)
    depth = g.integer(1, x.rank)
    lead = g.shape(1, 2)
    parts = [g.rng.integers(0, x.shape[i], lead) for i in range(depth)]
    index = g.constant(np.stack(parts, axis=-1), I64)
    g.add("GatherND", [x, index], [(x.type, lead + x.shape[depth:])])


def pad(g: Graph) -> None:
    mode = g.choice(("constant", "constant", "reflect", "edge"))
    x = g.any((FLOAT, I32) if mode == "constant" else (FLOAT,), 1, 4, fits=lambda v: v.elements > 0)
    pads = np.zeros((2, x.rank), np.int64)
    for side in range(2):
        for axis in range(x.rank):
            if g.chance(0.4):
                most = x.shape[axis] - 1 if mode == "reflect" else 3
                low = -1 if mode == "constant" and x.shape[axis] > 2 else 0
                pads[side, axis] = g.integer(low, max(most, low))
    shape = tuple(int(d + p) for d, p in zip(x.shape, pads.sum(0), strict=True))
    inputs = [x, g.constant(pads.ravel())]
    if mode == "constant" and g.chance(0.5):
        inputs.append(g.constant(3, x.type))
    g.add("Pad", inputs, [(x.type, shape)], mode=mode)


def space_depth(g: Graph) -> None:
    block = g.choice((2, 2, 3))
    if g.chance(0.5):
        n, c, h, w = g.integer(1, 2), g.integer(1, 3) * block**2, g.integer(1, 4), g.integer(1, 4)
        x = g.input(FLOAT, (n, c, h, w))
        mode = g.choice(("DCR", "CRD"))
        shape = (n, c // block**2, h * block, w * block)
        g.add("DepthToSpace", [x], [(FLOAT, shape)], blocksize=block, mode=mode)
    else:
        n, c = g.integer(1, 2), g.integer(1, 4)
        h, w = g.integer(1, 3) * block, g.integer(1, 3) * block
        x = g.input(FLOAT, (n, c, h, w))
        shape = (n, c * block**2, h // block, w // block)
        g.add("SpaceToDepth", [x], [(FLOAT, shape)], blocksize=block)


def triangle(g: Graph) -> None:
    if g.opset < 14:
        raise NoFit
    x = g.any((FLOAT, I64), 2)
    k = g.constant(g.integer(-3, 3), I64)
    g.add("Trilu", [x, k], [(x.type, x.shape)], upper=g.integer(0, 1))


def one_hot(g: Graph) -> None:
    depth = g.integer(2, 6)
    index = g.constant(g.rng.integers(-depth, depth, g.shape(1, 2)), I64)
    x = g.add("Identity", [index], [(I64, index.shape)])
    values = g.constant(np.array([0.5, 2], np.float32))
    axis = g.integer(-1, x.rank)
    at = x.rank if axis == -1 else axis
    shape = x.shape[:at] + (depth,) + x.shape[at:]
    g.add("OneHot", [x, g.constant(depth, I64), values], [(FLOAT, shape)], axis=axis)


def constant_of_shape(g: Graph) -> None:
    x = g.any(ANY, 1)
    shape = g.add("Shape", [x], [(I64, (x.rank,))])
    g.add("ConstantOfShape", [shape], [(FLOAT, x.shape)])




def reverse_sequence(g: Graph) -> None:
    x = g.any((FLOAT,), 2, fits=lambda v: v.elements > 0)
    time, batch = g.choice(((0, 1), (1, 0)))
    lengths = g.constant(g.rng.integers(1, x.shape[time] + 1, x.shape[batch]), I64)
    g.add("ReverseSequence", [x, lengths], [(FLOAT, x.shape)], time_axis=time, batch_axis=batch)


OPERATORS = [
    (3, unary), (2, unary_float), (1, newer_activation), (1, logarithm), (2, clip), (6, binary),
    (2, divide), (1, divide_integers), (1, extremes), (1, power), (1, prelu), (1, compare),
    (0.7, logic), (1, where), (0.5, bits), (2, cast), (1.5, round_trip), (3, reduce),
    (1, arg_extreme), (0.7, cumulative_sum), (0.7, top_k), (2, reshape), (1, reshape_computed),
    (1, flatten), (1, squeeze), (1, unsqueeze), (3, transpose), (1, expand), (0.7, tile),
    (2, concat), (1.5, split), (2, slice_), (1.5, gather), (0.7, gather_elements),
    (0.7, scatter_elements), (0.7, gather_nd), (1.5, pad), (0.7, space_depth), (0.7, triangle),
    (0.5, one_hot), (0.5, constant_of_shape), (0.5, reverse_sequence),
]  # fmt: skip
