# SPDX-License-Identifier: Apache-2.0
"""Layers as exporters write them, with weights scaled on the calibration batch.

`name` is always the module's path in the original implementation; weights are
called `name.weight` and so on, nodes `name/Kind`.
"""

from __future__ import annotations

import calibration_inputs
import numpy as np
from graph_builder import CALIBRATION_BATCH, GraphBuilder, Tensor

# Below this many samples a channel's own deviation is too uncertain to divide
# by, and the deviation over the whole tensor is used.
_SAMPLES_FOR_A_CHANNEL = 64


def image_input(g: GraphBuilder, size: int = 224) -> Tensor:
    """The graph input "input": float32 RGB images [N,3,size,size], normalised."""
    images = calibration_inputs.images(g.rng, CALIBRATION_BATCH, 3, g.side(size))
    return g.input("input", images)


def pair(value: int | tuple[int, int]) -> tuple[int, int]:
    return value if isinstance(value, tuple) else (value, value)


def _statistics(raw: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each channel, as float64 vectors."""
    others = tuple(a for a in range(raw.ndim) if a != axis % raw.ndim)
    mean = raw.mean(others, dtype=np.float64)
    variance = np.square(raw, dtype=np.float64).mean(others) - np.square(mean)
    deviation = np.sqrt(np.maximum(variance, 0))
    overall = np.sqrt(np.square(deviation).mean())
    if raw.size // len(mean) < _SAMPLES_FOR_A_CHANNEL:
        return mean, np.full_like(mean, overall)
    # A channel that hardly varies would otherwise be blown up into noise.
    return mean, np.maximum(deviation, 0.1 * overall)


def _random_affine(g: GraphBuilder, channels: int, gain: float) -> tuple[np.ndarray, np.ndarray]:
    """What a trained normalisation's scale and shift look like: not all alike."""
    return gain * g.rng.uniform(0.8, 1.2, channels), gain * g.rng.normal(0, 0.2, channels)


def _along(vector: np.ndarray, rank: int, axis: int) -> np.ndarray:
    shape = [1] * rank
    shape[axis] = -1
    return vector.reshape(shape)


def _calibrated(g: GraphBuilder, raw: np.ndarray, axis: int, gain: float):
    """The per-channel factor and shift that bring `raw` to a deviation of about
    `gain`, and the resulting output."""
    mean, deviation = _statistics(raw, axis)
    gamma, beta = _random_affine(g, len(mean), gain)
    factor = (gamma / deviation).astype(np.float32)
    shift = (beta - mean * factor).astype(np.float32)
    output = raw * _along(factor, raw.ndim, axis) + _along(shift, raw.ndim, axis)
    return factor, shift, output


def conv(
    g: GraphBuilder,
    x: Tensor,
    name: str,
    channels: int,
    kernel: int | tuple[int, int],
    stride: int = 1,
    pad: int | tuple[int, int] | None = None,
    groups: int = 1,
    gain: float = 1.0,
    bias: bool = True,
    folded_norm: bool = False,
) -> Tensor:
    """A convolution [channels, in/groups, kernel].

    pad: defaults to half the kernel.  folded_norm: it stands for a convolution
    and the batch normalisation after it, which only changes the parameter count.
    """
    kernel = pair(kernel)
    pad = (kernel[0] // 2, kernel[1] // 2) if pad is None else pair(pad)
    attributes = {
        "dilations": [1, 1],
        "group": groups,
        "kernel_shape": list(kernel),
        "pads": [*pad, *pad],
        "strides": [stride, stride],
    }
    fan_in = x.channels // groups * kernel[0] * kernel[1]
    weight = g.normal(channels, x.channels // groups, *kernel, deviation=fan_in**-0.5)
    raw = g.evaluate("Conv", [x.value, weight], **attributes)
    if not bias:
        scale = np.float32(gain / np.sqrt(np.square(_statistics(raw, 1)[1]).mean()))
        weights = [g.weight(f"{name}.weight", weight * scale)]
        return g.op("Conv", x, *weights, scope=name, known=raw * scale, **attributes)
    factor, shift, output = _calibrated(g, raw, 1, gain)
    weights = [
        g.weight(f"{name}.weight", weight * _along(factor, 4, 0)),
        g.weight(f"{name}.bias", shift),
    ]
    if folded_norm:
        g.parameters += channels  # a scale and a shift became one bias
    return g.op("Conv", x, *weights, scope=name, known=output, **attributes)


def conv_transpose(g: GraphBuilder, x: Tensor, name: str, channels: int, size: int) -> Tensor:
    """Enlarges by `size`: a transposed convolution whose kernel equals its stride."""
    attributes = {
        "dilations": [1, 1],
        "group": 1,
        "kernel_shape": [size, size],
        "pads": [0] * 4,
        "strides": [size, size],
    }
    weight = g.normal(x.channels, channels, size, size, deviation=x.channels**-0.5)
    raw = g.evaluate("ConvTranspose", [x.value, weight], **attributes)
    factor, shift, output = _calibrated(g, raw, 1, 1.0)
    weights = [
        g.weight(f"{name}.weight", weight * _along(factor, 4, 1)),
        g.weight(f"{name}.bias", shift),
    ]
    return g.op("ConvTranspose", x, *weights, scope=name, known=output, **attributes)


def conv_norm(g: GraphBuilder, x: Tensor, name: str, channels: int, kernel, **options) -> Tensor:
    """A convolution with its batch normalisation folded in, as exporters do."""
    return conv(g, x, name, channels, kernel, folded_norm=True, **options)


def batch_norm(
    g: GraphBuilder, x: Tensor, name: str, gain: float = 1.0, epsilon: float = 1e-5
) -> Tensor:
    """An explicit BatchNormalization whose running statistics fit its input."""
    mean, deviation = _statistics(x.value, 1)
    gamma, beta = _random_affine(g, x.channels, gain)
    values = [
        g.weight(f"{name}.weight", gamma.astype(np.float32)),
        g.weight(f"{name}.bias", beta.astype(np.float32)),
        g.weight(f"{name}.running_mean", mean.astype(np.float32), learned=False),
        g.weight(f"{name}.running_var", np.square(deviation).astype(np.float32), learned=False),
    ]
    return g.op("BatchNormalization", x, *values, scope=name, epsilon=epsilon, momentum=0.9)


def gemm(g: GraphBuilder, x: Tensor, name: str, features: int, gain: float = 1.0) -> Tensor:
    """A fully connected layer of a matrix [rows, in]: weight [features, in]."""
    weight = g.normal(features, x.value.shape[1], deviation=x.value.shape[1] ** -0.5)
    raw = g.evaluate("Gemm", [x.value, weight], transB=1)
    factor, shift, output = _calibrated(g, raw, 1, gain)
    weight *= factor[:, None]
    weights = [g.weight(f"{name}.weight", weight), g.weight(f"{name}.bias", shift)]
    return g.op("Gemm", x, *weights, scope=name, known=output, alpha=1.0, beta=1.0, transB=1)


def linear(g: GraphBuilder, x: Tensor, name: str, features: int, gain: float = 1.0) -> Tensor:
    """A fully connected layer on [..., in]: MatMul with [in, features], then Add."""
    inputs = x.value.shape[-1]
    weight = g.normal(inputs, features, deviation=inputs**-0.5)
    raw = g.evaluate("MatMul", [x.value, weight])
    factor, shift, output = _calibrated(g, raw, raw.ndim - 1, gain)
    weight *= factor
    product = g.op("MatMul", x, g.weight(f"{name}.weight", weight), scope=name, known=raw * factor)
    return g.op("Add", g.weight(f"{name}.bias", shift), product, scope=name, known=output)


def layer_norm(g: GraphBuilder, x: Tensor, name: str, epsilon: float) -> Tensor:
    """Normalisation over the last axis in nine nodes, as exported before opset 17."""
    size = x.value.shape[-1]
    gamma, beta = _random_affine(g, size, 1.0)
    mean = g.op("ReduceMean", x, scope=name, axes=[-1], keepdims=1)
    centred = g.op("Sub", x, mean, scope=name)
    squared = g.op("Pow", centred, g.constant(2.0, name), scope=name)
    variance = g.op("ReduceMean", squared, scope=name, axes=[-1], keepdims=1)
    safe = g.op("Add", variance, g.constant(epsilon, name), scope=name)
    normal = g.op("Div", centred, g.op("Sqrt", safe, scope=name), scope=name)
    scaled = g.op("Mul", normal, g.weight(f"{name}.weight", gamma.astype(np.float32)), scope=name)
    return g.op("Add", scaled, g.weight(f"{name}.bias", beta.astype(np.float32)), scope=name)


# ----------------------------------------------------------------- activations


def relu(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    return g.op("Relu", x, scope=name)


def relu6(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    return g.op("Clip", x, g.constant(0.0, name), g.constant(6.0, name), scope=name)


def silu(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    return g.op("Mul", x, g.op("Sigmoid", x, scope=name), scope=name)


def gelu(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    """x * (1 + erf(x / sqrt 2)) / 2, in the exporter's order."""
    erf = g.op("Erf", g.op("Div", x, g.constant(np.sqrt(2), name), scope=name), scope=name)
    product = g.op("Mul", x, g.op("Add", erf, g.constant(1.0, name), scope=name), scope=name)
    return g.op("Mul", product, g.constant(0.5, name), scope=name)


def hard_sigmoid(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    # The slope must be the float32 nearest to 1/6, not ONNX's default of 0.2.
    return g.op("HardSigmoid", x, scope=name, alpha=float(np.float32(1 / 6)), beta=0.5)


def hard_swish(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    return g.op("HardSwish", x, scope=name)


def hard_swish_decomposed(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    """x * clip(x + 3, 0, 6) / 6, as exported where HardSwish (opset 14) is missing."""
    shifted = g.op("Add", x, g.constant(3.0, name), scope=name)
    clipped = g.op("Clip", shifted, g.constant(0.0, name), g.constant(6.0, name), scope=name)
    return g.op("Mul", x, g.op("Div", clipped, g.constant(6.0, name), scope=name), scope=name)


# --------------------------------------------------------------------- pooling


def max_pool(
    g: GraphBuilder,
    x: Tensor,
    name: str,
    kernel: int,
    stride: int,
    pad: int = 0,
    ceil: bool = False,
) -> Tensor:
    return g.op(
        "MaxPool",
        x,
        scope=name,
        ceil_mode=int(ceil),
        kernel_shape=[kernel, kernel],
        pads=[pad] * 4,
        strides=[stride, stride],
    )


def average_pool(
    g: GraphBuilder, x: Tensor, name: str, kernel: int, stride: int, pad: int = 0
) -> Tensor:
    """Average pooling that counts the padding, which is PyTorch's default."""
    return g.op(
        "AveragePool",
        x,
        scope=name,
        ceil_mode=0,
        count_include_pad=1,
        kernel_shape=[kernel, kernel],
        pads=[pad] * 4,
        strides=[stride, stride],
    )


def global_pool_flat(g: GraphBuilder, x: Tensor, name: str) -> Tensor:
    """[N,C,H,W] to [N,C]: global average pooling, then Flatten."""
    pooled = g.op("GlobalAveragePool", x, scope=name)
    return g.op("Flatten", pooled, scope=name, axis=1)


# ---------------------------------------------------------------------- blocks


def squeeze_excite(
    g: GraphBuilder, x: Tensor, name: str, squeezed: int, activation, gate
) -> Tensor:
    """Scales each channel by a gate computed from all channels' averages."""
    y = g.op("GlobalAveragePool", x, scope=f"{name}.avgpool")
    y = activation(g, conv(g, y, f"{name}.fc1", squeezed, 1), f"{name}.activation")
    y = conv(g, y, f"{name}.fc2", x.channels, 1)
    return g.op("Mul", gate(g, y, f"{name}.scale_activation"), x, scope=name)


def classifier(g: GraphBuilder, x: Tensor, name: str, features: int = 1000) -> Tensor:
    """The last layer; a gain of 2 spreads the scores as a trained one's are."""
    return gemm(g, x, name, features, gain=2.0)
