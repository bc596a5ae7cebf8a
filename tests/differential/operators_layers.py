# SPDX-License-Identifier: Apache-2.0
"""Products, windows, normalisations, recurrences, resizing, quantisation."""

from __future__ import annotations

import math

import numpy as np
from graphs import FLOAT, HALF, I8, I32, I64, U8, Graph, NoFit, Value

# ---------------------------------------------------------------------------------- windows


def image(g: Graph, rank: int) -> Value:
    """A value [N, C, spatial…] of `rank` spatial dimensions."""
    return g.any((FLOAT,), rank + 2, rank + 2, fits=lambda v: v.elements > 0 and v.shape[1] <= 32)


def window(g: Graph, sizes: tuple[int, ...]) -> dict:
    """Kernel, strides, dilations and padding that leave room for at least one position."""
    kernel, strides, dilations, begins, ends = [], [], [], [], []
    for size in sizes:
        k = g.integer(1, 5 if g.chance(0.3) else 3)
        d = g.choice((1, 1, 1, 2))
        # A pool's window must meet the input everywhere.
        most = min(k - 1, 3)
        pads = [g.integer(0, most) if g.chance(0.4) else 0 for _ in range(2)]
        if d * (k - 1) + 1 > size + sum(pads):
            k, d, pads = 1, 1, [0, 0]
        kernel.append(k)
        strides.append(g.choice((1, 1, 2, 3)))
        dilations.append(d)
        begins.append(pads[0])
        ends.append(pads[1])
    made: dict = {"kernel_shape": kernel, "strides": strides, "dilations": dilations}
    if g.chance(0.15):
        made["auto_pad"] = g.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
        # ONNX Runtime refuses dilations here, and padding that would be negative in pools.
        made["dilations"] = [1] * len(sizes)
        strides[:] = [min(s, k) for s, k in zip(strides, kernel, strict=True)]
        if made["auto_pad"] == "VALID" and any(k > s for k, s in zip(kernel, sizes, strict=True)):
            made["auto_pad"] = "SAME_UPPER"
    else:
        made["pads"] = begins + ends
    return made


def out_sizes(sizes, w: dict, ceil: bool = False) -> tuple[int, ...]:
    n, result = len(sizes), []
    for i, size in enumerate(sizes):
        k, s, d = w["kernel_shape"][i], w["strides"][i], w["dilations"][i]
        extent = d * (k - 1) + 1
        if w.get("auto_pad", "").startswith("SAME"):
            result.append(-(-size // s))
            continue
        begin, end = (w["pads"][i], w["pads"][n + i]) if "pads" in w else (0, 0)
        room = size + begin + end - extent
        out = (-(-room // s) if ceil else room // s) + 1
        if ceil and (out - 1) * s >= size + begin:
            out -= 1
        result.append(out)
    return tuple(result)


def conv(g: Graph) -> None:
    x = image(g, g.choice((1, 2, 2, 2, 3)))
    channels = x.shape[1]
    group = g.choice([d for d in range(1, channels + 1) if channels % d == 0])
    out = group * g.integer(1, 4 if group < 8 else 1) if g.chance(0.7) else group * 8
    w = window(g, x.shape[2:])
    fan = channels // group * math.prod(w["kernel_shape"])
    weights = g.rng.normal(0, fan**-0.5, (out, channels // group, *w["kernel_shape"]))
    inputs = [x, g.constant(weights, FLOAT)]
    if g.chance(0.6):
        inputs.append(g.constant(g.array(FLOAT, (out,))))
    shape = (x.shape[0], out, *out_sizes(x.shape[2:], w))
    y = g.add("Conv", inputs, [(FLOAT, shape)], group=group, **w)
    if g.chance(0.4):
        g.like(g.choice(("Relu", "Sigmoid", "LeakyRelu", "HardSigmoid")), y)


def conv_transpose(g: Graph) -> None:
    x = image(g, g.choice((1, 2, 2)))
    spatial = x.shape[2:]
    channels = x.shape[1]
    group = g.choice([d for d in (1, 2, channels) if channels % d == 0])
    out = g.integer(1, 4)
    kernel = [g.integer(1, 3) for _ in spatial]
    strides = [g.integer(1, 3) for _ in spatial]
    dilations = [g.choice((1, 1, 2)) for _ in spatial]
    pads = [g.integer(0, (k - 1) // 2) for k in kernel] * 2
    extra = [g.integer(0, s - 1) if g.chance(0.4) else 0 for s in strides]
    sizes = []
    for i, size in enumerate(spatial):
        extent = (kernel[i] - 1) * dilations[i] + 1
        sizes.append(strides[i] * (size - 1) + extra[i] + extent - 2 * pads[i])
    weights = g.rng.normal(0, channels**-0.5, (channels, out, *kernel))
    inputs = [x, g.constant(weights, FLOAT)]
    if g.chance(0.5):
        inputs.append(g.constant(g.array(FLOAT, (out * group,))))
    g.add(
        "ConvTranspose", inputs, [(FLOAT, (x.shape[0], out * group, *sizes))], group=group,
        kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads, output_padding=extra,
    )  # fmt: skip


def pool(g: Graph) -> None:
    x = image(g, g.choice((1, 2, 2, 2, 3)))
    op = g.choice(("MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool"))
    w = window(g, x.shape[2:])
    ceil = g.chance(0.4) and "auto_pad" not in w and op != "LpPool"
    if op == "AveragePool" and g.opset < 19 or op == "LpPool" and g.opset < 18:
        w["dilations"] = [1] * len(x.shape[2:])
    for i, size in enumerate(x.shape[2:]):
        # Dilated windows may lie in the padding as a whole, where a pool has no meaning.
        if w["dilations"][i] * (w["kernel_shape"][i] - 1) + 1 > size:
            w["dilations"][i] = 1
        if w["dilations"][i] > 1 and "pads" in w:
            w["pads"][i] = w["pads"][i + x.rank - 2] = 0
    shape = (*x.shape[:2], *out_sizes(x.shape[2:], w, ceil))
    if min(shape) <= 0:
        raise NoFit
    attributes = dict(w)
    if set(w["dilations"]) == {1}:
        attributes.pop("dilations")
    if ceil:
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and g.chance(0.5):
        attributes["count_include_pad"] = 1
    if op == "LpPool":
        attributes["p"] = g.integer(1, 2)
    g.add(op, [x], [(FLOAT, shape)], **attributes)


def global_pool(g: Graph) -> None:
    x = image(g, g.choice((1, 2, 2, 3)))
    op = g.choice(("GlobalAveragePool", "GlobalMaxPool"))
    g.add(op, [x], [(FLOAT, x.shape[:2] + (1,) * (x.rank - 2))])


# --------------------------------------------------------------------------------- products


def gemm(g: Graph) -> None:
    x = g.any((FLOAT,), 2, 2)
    trans_a, trans_b = g.integer(0, 1), g.integer(0, 1)
    m, k = x.shape[::-1] if trans_a else x.shape
    n = g.integer(1, 20)
    w = g.random(FLOAT, (n, k) if trans_b else (k, n))
    inputs = [x, w]
    if g.chance(0.6):
        inputs.append(g.random(FLOAT, g.choice(((n,), (m, n), (1, n), (m, 1), (1,), ()))))
    scale = {"alpha": float(g.choice((1, 0.5))), "beta": float(g.choice((1, 2)))}
    g.add("Gemm", inputs, [(FLOAT, (m, n))], transA=trans_a, transB=trans_b, **scale)


def matmul(g: Graph) -> None:
    x = g.any((FLOAT,), 1, 4)
    k = x.shape[-1]
    kind = g.integer(0, 3)
    if kind == 0:
        y = g.random(FLOAT, (k,))
        shape = x.shape[:-1]
    else:
        n = g.integer(1, 17)
        lead = g.broadcast_shape(x.shape[:-2]) if kind == 2 else ()
        y = g.random(FLOAT, (*lead, k, n))
        shape = (*x.shape[:-1], n)
    g.add("MatMul", [x, y], [(FLOAT, shape)])


_EQUATIONS = (
    "ij,jk->ik", "bij,bjk->bik", "bij,bkj->bik", "ij->ji", "ij->i", "ij,ij->", "i,j->ij",
    "bhid,bhjd->bhij", "...ij,jk->...ik", "ij,jk", "ii->i", "bij,jk,kl->bil", "abc,cd->dab",
)  # fmt: skip


def einsum(g: Graph) -> None:
    equation = g.choice(_EQUATIONS)
    left, _, right = equation.partition("->")
    sizes = {c: g.integer(1, 6) for c in "abcdhijkl"}
    lead = g.shape(1, 1)

    def shape(term: str) -> tuple[int, ...]:
        head = lead if term.startswith("...") else ()
        return head + tuple(sizes[c] for c in term if c != ".")

    terms = left.split(",")
    inputs = [g.input(FLOAT, shape(terms[0]))] + [g.random(FLOAT, shape(t)) for t in terms[1:]]
    result = right or ("ik" if "->" not in equation else "")
    g.add("Einsum", inputs, [(FLOAT, shape(result))], equation=equation)


# ---------------------------------------------------------------------------- normalisations


def softmax(g: Graph) -> None:
    x = g.any((FLOAT,), 1)
    op = g.choice(("Softmax", "Softmax", "LogSoftmax", "Hardmax"))
    g.like(op, x, axis=g.integer(-x.rank, x.rank - 1))


def batch_norm(g: Graph) -> None:
    x = image(g, g.choice((1, 2, 2, 3)))
    c = (x.shape[1],)
    values = [g.constant(g.array(FLOAT, c)) for _ in range(3)]
    values.append(g.constant(g.rng.uniform(0.5, 2, c), FLOAT))
    g.add("BatchNormalization", [x, *values], [(FLOAT, x.shape)], epsilon=1e-4)


def instance_norm(g: Graph) -> None:
    x = image(g, g.choice((1, 2, 2)))
    if math.prod(x.shape[2:]) < 2:
        raise NoFit
    c = (x.shape[1],)
    values = [g.constant(g.array(FLOAT, c)) for _ in range(2)]
    g.add("InstanceNormalization", [x, *values], [(FLOAT, x.shape)], epsilon=0.1)


def layer_norm(g: Graph) -> None:
    x = g.any((FLOAT,), 1, fits=lambda v: v.elements > 0)
    if g.opset < 17:
        raise NoFit
    axis = g.integer(-x.rank, -1)
    shape = x.shape[axis:]
    values = [g.constant(g.array(FLOAT, shape)) for _ in range(g.integer(1, 2))]
    g.add("LayerNormalization", [x, *values], [(FLOAT, x.shape)], axis=axis, epsilon=0.1)


def local_norm(g: Graph) -> None:
    if g.chance(0.5):
        x = image(g, 2)
        g.like("LRN", x, size=g.choice((1, 3, 5)), alpha=0.1, beta=0.75, bias=1.0)
    else:
        x = g.any((FLOAT,), 1, fits=lambda v: v.elements > 0)
        g.like("LpNormalization", x, axis=g.integer(-x.rank, x.rank - 1), p=g.integer(1, 2))


# -------------------------------------------------------------------------------- recurrences

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(g: Graph) -> None:
    op = g.choice(list(_GATES))
    steps, batch, size, hidden = g.integer(1, 4), g.integer(1, 3), g.integer(1, 5), g.integer(1, 6)
    direction = g.choice(("forward", "reverse", "bidirectional"))
    d = 2 if direction == "bidirectional" else 1
    x = g.any((FLOAT,), 3, 3, fits=lambda v: v.elements > 0)
    steps, batch, size = x.shape
    rows = _GATES[op] * hidden
    inputs = [x, g.constant(0.5 * g.array(FLOAT, (d, rows, size)), FLOAT)]
    inputs.append(g.constant(0.5 * g.array(FLOAT, (d, rows, hidden)), FLOAT))
    if g.chance(0.7):
        inputs.append(g.constant(g.array(FLOAT, (d, 2 * rows))))
        if g.chance(0.5):
            lengths = g.constant(g.rng.integers(1, steps + 1, batch), I32)
            inputs += [g.choice((lengths, None)), g.constant(g.array(FLOAT, (d, batch, hidden)))]
    state = (FLOAT, (d, batch, hidden))
    outputs = [(FLOAT, (steps, d, batch, hidden)), state]
    if op == "LSTM":
        outputs.append(state)
    options = {"linear_before_reset": g.integer(0, 1)} if op == "GRU" else {}
    g.add(op, inputs, outputs, hidden_size=hidden, direction=direction, **options)


# ----------------------------------------------------------------------------------- resizing


def resize(g: Graph) -> None:
    x = image(g, g.choice((1, 2, 2)))
    mode = g.choice(("nearest", "linear", "linear", "cubic"))
    transform = g.choice(("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))
    if mode == "cubic" and x.rank != 4:
        raise NoFit
    options = {"mode": mode, "coordinate_transformation_mode": transform}
    if mode == "nearest":
        modes = ("round_prefer_floor", "floor", "ceil", "round_prefer_ceil")
        options["nearest_mode"] = g.choice(modes)
    if mode == "cubic" and g.chance(0.5):
        options["cubic_coeff_a"] = -0.5
    if g.chance(0.5):
        scales = [1.0, 1.0] + [float(g.choice((0.5, 1, 2, 3, 1.5))) for _ in x.shape[2:]]
        shape = tuple(int(d * s) for d, s in zip(x.shape, scales, strict=True))
        inputs = [x, None, g.constant(np.array(scales, np.float32))]
    else:
        shape = x.shape[:2] + tuple(g.integer(1, 2 * d + 1) for d in x.shape[2:])
        inputs = [x, None, None, g.constant(np.array(shape, np.int64))]
    # One pixel by cubic interpolation: the engines and the evaluator all have it another way.
    if 0 in shape or (mode == "cubic" and 1 in shape[2:]):
        raise NoFit
    g.add("Resize", inputs, [(FLOAT, shape)], **options)


# ------------------------------------------------------------------------------- quantisation


def _scale(g: Graph, kind: int, positive: bool) -> list[Value]:
    """Scale and zero point; where `positive`, negatives are clamped, as ReLU would."""
    scale = g.constant(float(g.choice((0.02, 0.05, 0.1))), FLOAT)
    low = 0 if kind == U8 else -128
    zero = low if positive else low + g.choice((128, 128, 100, 140))
    return [scale, g.constant(zero, kind)]


def _pair(g: Graph, x: Value, kind: int | None = None) -> Value:
    g.quantised = True
    kind = kind or g.choice((U8, I8))
    parameters = _scale(g, kind, positive=g.chance(0.4))
    q = g.add("QuantizeLinear", [x, *parameters], [(kind, x.shape)])
    g.values.pop()  # integers with a scale of their own: only what is below may use them
    if g.chance(0.2) and x.rank == 4 and x.elements:
        n, c, h, w = x.shape
        q = g.add("Transpose", [q], [(kind, (n, h, w, c))], perm=[0, 2, 3, 1])
        g.values.pop()
    return g.add("DequantizeLinear", [q, *parameters], [(FLOAT, q.shape)])


def quantised_pair(g: Graph) -> None:
    _pair(g, g.any((FLOAT,)))


def _weights(g: Graph, shape: tuple[int, ...], per_channel: bool) -> list[Value]:
    values = g.constant(g.rng.integers(-127, 128, shape), I8)
    fan = math.prod(shape[1:]) ** -0.5 / 64
    scale = g.rng.uniform(0.5, 1.5, shape[0] if per_channel else ()) * fan
    zero = np.zeros(scale.shape if per_channel else ())
    return [values, g.constant(scale, FLOAT), g.constant(zero, I8)]


def quantised_conv(g: Graph) -> None:
    """QDQ or QLinearConv; the activation is often left to the clamp of the result."""
    x = image(g, 2)
    channels = x.shape[1]
    group = channels if g.chance(0.3) else 1
    out = group * (1 if group > 1 else g.integer(1, 17))
    w = window(g, x.shape[2:])
    per_channel = g.chance(0.5)
    weights = _weights(g, (out, channels // group, *w["kernel_shape"]), per_channel)
    shape = (x.shape[0], out, *out_sizes(x.shape[2:], w))
    kind = g.choice((U8, I8))
    g.quantised = True
    if g.chance(0.3):
        before, after = _scale(g, kind, False), _scale(g, kind, g.chance(0.5))
        q = g.add("QuantizeLinear", [x, *before], [(kind, x.shape)])
        g.values.pop()
        bias = [g.constant(g.rng.integers(-3000, 3000, out), I32)] if g.chance(0.5) else []
        inputs = [q, *before, *weights, *after, *bias]
        y = g.add("QLinearConv", inputs, [(kind, shape)], group=group, **w)
        g.values.pop()
        g.add("DequantizeLinear", [y, *after], [(FLOAT, shape)])
        return
    before = x.shape
    x = _pair(g, x, kind)
    if x.shape != before:
        return
    inputs = [x, g.add("DequantizeLinear", weights, [(FLOAT, weights[0].shape)], axis=0)]
    if g.chance(0.5):
        inputs.append(g.constant(g.array(FLOAT, (out,))))
    y = g.add("Conv", inputs, [(FLOAT, shape)], group=group, **w)
    if g.chance(0.4):
        y = g.like("Relu", y)
    if g.chance(0.8):
        _pair(g, y, kind)


def quantised_add(g: Graph) -> None:
    x = g.any((FLOAT,))
    y = g.random(FLOAT, x.shape)
    kind = g.choice((U8, I8))
    left, right = _pair(g, x, kind), _pair(g, y, kind)
    if left.shape == right.shape:
        _pair(g, g.add("Add", [left, right], [(FLOAT, left.shape)]), kind)


def quantised_matmul(g: Graph) -> None:
    x = g.any((FLOAT,), 2, 3, fits=lambda v: v.elements > 0)
    n, kind = g.integer(1, 17), g.choice((U8, I8))
    a = _pair(g, x, kind)
    weights = _weights(g, (x.shape[-1], n), False)
    w = g.add("DequantizeLinear", weights, [(FLOAT, weights[0].shape)])
    y = g.add("MatMul", [a, w], [(FLOAT, (*x.shape[:-1], n))])
    if g.chance(0.7):
        _pair(g, y, kind)


def integer_products(g: Graph) -> None:
    m, k, n = (g.integer(1, 9) for _ in range(3))
    a = g.constant(g.rng.integers(0, 256, (m, k)), U8)
    a = g.add("Identity", [a], [(U8, a.shape)])
    b = g.constant(g.rng.integers(-127, 128, (k, n)), I8)
    inputs = [a, b]
    if g.chance(0.5):
        inputs.append(g.constant(g.integer(0, 255), U8))
    g.add("MatMulInteger", inputs, [(I32, (m, n))])


def dynamic_quantise(g: Graph) -> None:
    x = g.any((FLOAT,), fits=lambda v: v.elements > 0)
    outputs = [(U8, x.shape), (FLOAT, ()), (U8, ())]
    q, scale, zero = g.add("DynamicQuantizeLinear", [x], outputs)
    g.add("DequantizeLinear", [q, scale, zero], [(FLOAT, x.shape)])


OPERATORS = [
    (5, conv), (1.5, conv_transpose), (3, pool), (1, global_pool), (1.5, gemm), (2.5, matmul),
    (1, einsum), (1.5, softmax), (1, batch_norm), (0.7, instance_norm), (1, layer_norm),
    (0.7, local_norm), (0.7, recurrent), (1.5, resize), (1, quantised_pair), (2, quantised_conv),
    (0.7, quantised_add), (0.7, quantised_matmul), (0.4, integer_products), (0.4, dynamic_quantise),
]  # fmt: skip
