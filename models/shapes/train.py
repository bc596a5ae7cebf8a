#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the small shape classifier and writes it as ONNX, with its test data.

    python train.py --out .

Draws the images (shape_images.py), trains a residual CNN in JAX on the CPU,
folds batch normalisation the way exporters do, writes the ONNX file with the
`onnx` package and measures its accuracy with ONNX Runtime.  Everything is
seeded; on another machine the last bits of the weights may differ, because
floating-point sums are ordered differently there.
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import time

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
import shape_images
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, ImageDraw

MEAN, STD = 0.5, 0.3  # of a generated pixel, roughly; folded into the graph as Sub and Div
BN_EPSILON = 1e-5
OPSET = 13
TEST_COUNT = 400
# Distinct seeds keep the training images, the shipped test images and the
# larger held-out set used for the stated accuracy apart from each other.
TEST_SEED, HELD_OUT_SEED = 1001, 1002

# Name -> (kernel size, input channels, output channels, followed by batch norm).
CONVOLUTIONS = {
    "stem": (3, 3, 16, True),
    "widen": (3, 16, 24, True),
    "block1_a": (3, 24, 24, True),
    "block1_b": (3, 24, 24, True),
    "point2": (1, 24, 48, True),
    "block2_a": (3, 48, 48, True),
    "block2_b": (3, 48, 48, False),
    "point3": (1, 48, 96, True),
}
DEPTHWISE = {"depth2": 24, "depth3": 48}
# This one stands after a residual Add, so no convolution can absorb it.
FREE_NORMS = {"norm2": 48}


# ---------------------------------------------------------------- the network


def initial_parameters(seed: int) -> tuple[dict, dict]:
    """Trainable parameters, and running statistics, as dictionaries of arrays."""
    rng = np.random.default_rng(seed)
    params, stats = {}, {}

    def add_norm(name: str, channels: int) -> None:
        params[f"{name}.gamma"] = np.ones(channels, np.float32)
        params[f"{name}.beta"] = np.zeros(channels, np.float32)
        stats[f"{name}.mean"] = np.zeros(channels, np.float32)
        stats[f"{name}.var"] = np.ones(channels, np.float32)

    def he_normal(shape: tuple[int, ...], fan_in: int) -> np.ndarray:
        return rng.normal(0, np.sqrt(2 / fan_in), shape).astype(np.float32)

    for name, (size, inputs, outputs, has_norm) in CONVOLUTIONS.items():
        fan_in = size * size * inputs
        params[f"{name}.weight"] = he_normal((size, size, inputs, outputs), fan_in)
        if has_norm:
            add_norm(name, outputs)
        else:
            params[f"{name}.bias"] = np.zeros(outputs, np.float32)
    for name, channels in DEPTHWISE.items():
        params[f"{name}.weight"] = he_normal((3, 3, channels), 9)
        add_norm(name, channels)
    for name, channels in FREE_NORMS.items():
        add_norm(name, channels)
    classes = len(shape_images.CLASSES)
    params["dense.weight"] = he_normal((96, classes), 96)
    params["dense.bias"] = np.zeros(classes, np.float32)
    return params, stats


class Network:
    """One forward pass over NHWC images.

    With `training`, batch statistics normalise and are collected in
    `batch_stats`; otherwise the running statistics in `stats` do.
    """

    def __init__(self, params: dict, stats: dict, training: bool):
        self.params, self.stats, self.training = params, stats, training
        self.batch_stats: dict = {}

    def norm(self, name: str, x):
        if self.training:
            mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
            self.batch_stats[f"{name}.mean"] = mean
            self.batch_stats[f"{name}.var"] = var
        else:
            mean, var = self.stats[f"{name}.mean"], self.stats[f"{name}.var"]
        scale = self.params[f"{name}.gamma"] * jax.lax.rsqrt(var + BN_EPSILON)
        return x * scale + (self.params[f"{name}.beta"] - mean * scale)

    def conv(self, name: str, x):
        weight = self.params[f"{name}.weight"]
        margin = weight.shape[0] // 2
        x = jax.lax.conv_general_dilated(
            x,
            weight,
            (1, 1),
            [(margin, margin)] * 2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        if f"{name}.bias" in self.params:
            return x + self.params[f"{name}.bias"]
        return self.norm(name, x)

    def depthwise_stride2(self, name: str, x):
        # Nine shifted products: XLA's grouped convolution is slow on the CPU.
        weight = self.params[f"{name}.weight"]
        height, width = x.shape[1], x.shape[2]
        x = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        total = 0
        for row in range(3):
            for column in range(3):
                part = x[:, row : row + height : 2, column : column + width : 2]
                total = total + part * weight[row, column]
        return self.norm(name, total)

    def logits(self, images):
        relu = jax.nn.relu
        x = (images - MEAN) / STD
        x = relu(self.conv("stem", x))
        n, h, w, c = x.shape
        x = x.reshape(n, h // 2, 2, w // 2, 2, c).max((2, 4))  # max pool 2x2
        x = relu(self.conv("widen", x))
        y = relu(self.conv("block1_a", x))
        x = relu(x + self.conv("block1_b", y))
        x = relu(self.depthwise_stride2("depth2", x))
        x = relu(self.conv("point2", x))
        y = relu(self.conv("block2_a", x))
        x = relu(self.norm("norm2", x + self.conv("block2_b", y)))
        x = relu(self.depthwise_stride2("depth3", x))
        x = relu(self.conv("point3", x))
        return x.mean((1, 2)) @ self.params["dense.weight"] + self.params["dense.bias"]


# ------------------------------------------------------------------- training


@functools.partial(jax.jit, donate_argnums=(0, 1, 2))
def train_step(params, stats, moments, images, labels, rate, step):
    """One step of Adam with decoupled weight decay on the weights."""

    def loss_of(parameters):
        network = Network(parameters, stats, training=True)
        log_probabilities = jax.nn.log_softmax(network.logits(images))
        chosen = jnp.take_along_axis(log_probabilities, labels[:, None], 1)
        return -chosen.mean(), network.batch_stats

    (loss, batch_stats), gradients = jax.value_and_grad(loss_of, has_aux=True)(params)
    stats = {name: 0.95 * stats[name] + 0.05 * batch_stats[name] for name in stats}
    first = {k: 0.9 * moments[0][k] + 0.1 * gradients[k] for k in params}
    second = {k: 0.99 * moments[1][k] + 0.01 * gradients[k] ** 2 for k in params}
    updated = {}
    for name, value in params.items():
        mean = first[name] / (1 - 0.9**step)
        spread = jnp.sqrt(second[name] / (1 - 0.99**step)) + 1e-8
        decay = 5e-4 * value if name.endswith(".weight") else 0.0
        updated[name] = value - rate * (mean / spread + decay)
    return updated, stats, (first, second), loss


def augmented(rng: np.random.Generator, images: np.ndarray) -> np.ndarray:
    """Turns, mirrors and swaps the colour channels of each half of the batch, the
    same way for all of that half's images; no class changes under any of it."""
    parts = []
    for part in np.array_split(images, 2):
        part = np.rot90(part, rng.integers(4), axes=(1, 2))
        if rng.random() < 0.5:
            part = part[:, :, ::-1]
        parts.append(part[..., rng.permutation(3)])
    return np.concatenate(parts).astype(np.float32) / 255


def train(args) -> tuple[dict, dict]:
    started = time.time()
    rng = np.random.default_rng(args.seed)
    images, labels = shape_images.generate(args.images, args.seed)
    images = np.ascontiguousarray(images.transpose(0, 2, 3, 1))
    print(f"drew {args.images} training images in {time.time() - started:.1f} s", flush=True)

    params, stats = initial_parameters(args.seed)
    print(f"{sum(v.size for v in params.values())} trainable parameters", flush=True)
    moments = tuple({k: np.zeros_like(v) for k, v in params.items()} for _ in range(2))
    steps_per_epoch = args.images // args.batch
    total = steps_per_epoch * args.epochs
    step = 0
    for epoch in range(args.epochs):
        order = rng.permutation(args.images)
        losses = []
        for place in range(steps_per_epoch):
            chosen = order[place * args.batch : (place + 1) * args.batch]
            # A short linear warm-up, then a cosine down to zero.
            warm_up = min(1.0, (step + 1) / (0.05 * total))
            rate = args.rate * warm_up * 0.5 * (1 + np.cos(np.pi * step / total))
            step += 1
            params, stats, moments, loss = train_step(
                params, stats, moments, augmented(rng, images[chosen]), labels[chosen], rate, step
            )
            losses.append(loss)
        print(
            f"epoch {epoch + 1}/{args.epochs}  loss {float(np.mean(losses)):.4f}"
            f"  {time.time() - started:.0f} s",
            flush=True,
        )
    return jax.device_get(params), exact_statistics(params, images[:4000])


def exact_statistics(params: dict, images: np.ndarray) -> dict:
    """Normalisation statistics of the final weights over `images`.  The running
    averages lag behind the weights; one pass over fixed images does not."""

    @jax.jit
    def collect(batch):
        network = Network(params, {}, training=True)
        network.logits(batch)
        return network.batch_stats

    collected = [
        jax.device_get(collect(images[i : i + 500].astype(np.float32) / 255))
        for i in range(0, len(images), 500)
    ]
    return {k: np.mean([c[k] for c in collected], axis=0) for k in collected[0]}


# ----------------------------------------------------------------- ONNX export


class Exporter:
    """Collects nodes and initializers; every method returns its output's name."""

    def __init__(self, params: dict, stats: dict):
        self.params, self.stats = params, stats
        self.nodes: list = []
        self.initializers: list = []

    def constant(self, name: str, value) -> str:
        array = np.ascontiguousarray(value, np.float32)
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def relu(self, x: str) -> str:
        return self.node("Relu", [x], f"{x}_relu")

    def conv(self, name: str, x: str, stride: int = 1) -> str:
        """A convolution, with its batch normalisation folded into its weights."""
        weight = self.params[f"{name}.weight"]
        group = 1
        if weight.ndim == 3:  # depthwise
            group = weight.shape[2]
            weight = weight[:, :, None, :]
        weight = weight.transpose(3, 2, 0, 1).astype(np.float64)
        if f"{name}.bias" in self.params:
            bias = self.params[f"{name}.bias"]
        else:
            spread = np.sqrt(self.stats[f"{name}.var"].astype(np.float64) + BN_EPSILON)
            scale = self.params[f"{name}.gamma"] / spread
            weight = weight * scale[:, None, None, None]
            bias = self.params[f"{name}.beta"] - self.stats[f"{name}.mean"] * scale
        size = weight.shape[2]
        return self.node(
            "Conv",
            [x, self.constant(f"{name}.weight", weight), self.constant(f"{name}.bias", bias)],
            name,
            kernel_shape=[size, size],
            strides=[stride, stride],
            pads=[size // 2] * 4,
            dilations=[1, 1],
            group=group,
        )

    def batch_norm(self, name: str, x: str) -> str:
        inputs = [x]
        for values, kinds in ((self.params, ("gamma", "beta")), (self.stats, ("mean", "var"))):
            inputs += [self.constant(f"{name}.{k}", values[f"{name}.{k}"]) for k in kinds]
        return self.node("BatchNormalization", inputs, name, epsilon=BN_EPSILON)

    def model(self) -> onnx.ModelProto:
        x = self.node("Sub", ["image", self.constant("pixel_mean", [[[[MEAN]]]])], "centred")
        x = self.node("Div", [x, self.constant("pixel_std", [[[[STD]]]])], "normalised")
        x = self.relu(self.conv("stem", x))
        x = self.node("MaxPool", [x], "pool1", kernel_shape=[2, 2], strides=[2, 2])
        x = self.relu(self.conv("widen", x))
        y = self.conv("block1_b", self.relu(self.conv("block1_a", x)))
        x = self.relu(self.node("Add", [x, y], "sum1"))
        x = self.relu(self.conv("depth2", x, stride=2))
        x = self.relu(self.conv("point2", x))
        y = self.conv("block2_b", self.relu(self.conv("block2_a", x)))
        x = self.node("Add", [x, y], "sum2")
        x = self.relu(self.batch_norm("norm2", x))
        x = self.relu(self.conv("depth3", x, stride=2))
        x = self.relu(self.conv("point3", x))
        x = self.node("GlobalAveragePool", [x], "pooled")
        x = self.node("Flatten", [x], "features", axis=1)
        # Stored [classes, features] and transposed by Gemm, as exporters store it.
        weight = self.constant("dense.weight", self.params["dense.weight"].T)
        bias = self.constant("dense.bias", self.params["dense.bias"])
        x = self.node("Gemm", [x, weight, bias], "logits", transB=1)
        self.node("Softmax", [x], "probabilities", axis=1)

        size, classes = shape_images.SIZE, len(shape_images.CLASSES)
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 3, size, size])
        output = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", classes])
        graph = helper.make_graph(self.nodes, "shapes", [image], [output], self.initializers)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=7,
            producer_name="softneuro-shapes",
        )
        onnx.checker.check_model(model, full_check=True)
        return model


# ------------------------------------------------------------- test artefacts


def contact_sheet(images: np.ndarray, labels: np.ndarray, guesses: np.ndarray) -> Image.Image:
    """Ten test images of each class beside its name; a misread one is framed in red."""
    cell, margin, columns = 48, 92, 10
    sheet = Image.new("RGB", (margin + columns * cell, len(shape_images.CLASSES) * cell), "white")
    draw = ImageDraw.Draw(sheet)
    for row, name in enumerate(shape_images.CLASSES):
        draw.text((6, row * cell + 18), name, fill="black")
        for column, index in enumerate(np.flatnonzero(labels == row)[:columns]):
            picture = Image.fromarray(images[index].transpose(1, 2, 0))
            picture = picture.resize((44, 44), Image.NEAREST)
            left, top = margin + column * cell, row * cell
            if guesses[index] != row:
                draw.rectangle((left, top, left + 47, top + 47), fill="red")
            sheet.paste(picture, (left + 2, top + 2))
    return sheet


def write_artefacts(out: pathlib.Path, model: onnx.ModelProto, params: dict, stats: dict) -> float:
    out.mkdir(parents=True, exist_ok=True)
    onnx.save(model, out / "shapes.onnx")
    (out / "classes.txt").write_text("\n".join(shape_images.CLASSES) + "\n")

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(out / "shapes.onnx"), options, providers=["CPUExecutionProvider"]
    )

    def probabilities(images: np.ndarray) -> np.ndarray:
        return session.run(None, {"image": images.astype(np.float32) / np.float32(255)})[0]

    images, labels = shape_images.generate(TEST_COUNT, TEST_SEED)
    reference = probabilities(images)
    guesses = reference.argmax(1)
    np.save(out / "test_images.npy", images)
    np.save(out / "test_labels.npy", labels)
    np.save(out / "reference_probabilities.npy", reference)
    contact_sheet(images, labels, guesses).save(out / "contact_sheet.png", optimize=True)
    star = shape_images.CLASSES.index("star")
    example = next(i for i in range(TEST_COUNT) if guesses[i] == labels[i] == star)
    Image.fromarray(images[example].transpose(1, 2, 0)).save(out / "example.png")

    # The exported graph must compute what was trained.
    batch = images.transpose(0, 2, 3, 1).astype(np.float32) / 255
    trained = jax.nn.softmax(Network(params, stats, training=False).logits(batch))
    difference = float(np.abs(np.asarray(trained) - reference).max())
    print(f"largest difference between the trained and the exported network: {difference:.2e}")
    if difference > 1e-4:
        raise SystemExit("the exported graph does not compute what was trained")

    print(f"accuracy on the {TEST_COUNT} test images: {(guesses == labels).mean():.2%}")
    print(f"example.png is test image {example}, a star ({reference[example, star]:.3f})")
    images, labels = shape_images.generate(10000, HELD_OUT_SEED)
    guesses = probabilities(images).argmax(1)
    for index, name in enumerate(shape_images.CLASSES):
        print(f"  {name:13s}{(guesses[labels == index] == index).mean():8.2%}")
    accuracy = float((guesses == labels).mean())
    print(f"accuracy on 10000 further held-out images: {accuracy:.2%}", flush=True)
    return accuracy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the results")
    parser.add_argument("--images", type=int, default=40000, help="training images to draw")
    parser.add_argument("--epochs", type=int, default=16)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=3e-3, help="peak learning rate")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.seed in (TEST_SEED, HELD_OUT_SEED):
        parser.error("that seed draws the test images")
    params, stats = train(args)
    model = Exporter(params, stats).model()
    write_artefacts(args.out, model, params, stats)


if __name__ == "__main__":
    main()
