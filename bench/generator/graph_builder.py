# SPDX-License-Identifier: Apache-2.0
"""An ONNX graph that is evaluated while it is built.

Every tensor carries the value it has for a small batch of calibration inputs.
A layer can therefore choose its weights by looking at what they produce: it
draws them at random, measures the output, and rescales (layers.py).  This is
batch normalisation calibrated on data, and it keeps every layer of a deep
untrained network at a standard deviation near 1, where purely analytic
initialisation drifts towards constant, vanishing or exploding outputs.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import onnx
from evaluator import IR_VERSION, Evaluator
from onnx import helper, numpy_helper

# Four inputs: enough for two of each kind in calibration_inputs.images, few
# enough that the largest network calibrates within seconds.
CALIBRATION_BATCH = 4


@dataclasses.dataclass
class Tensor:
    """A named tensor of the graph and its value for the calibration batch."""

    name: str
    value: np.ndarray

    @property
    def channels(self) -> int:
        return self.value.shape[1]


@dataclasses.dataclass(frozen=True)
class Dim:
    """In a target shape: `multiple` times the extent of the source's `axis`.

    In graphs with constant shapes it may only stand for the batch, which then
    is the one extent that differs between the calibration and the file.
    """

    axis: int = 0
    multiple: int = 1


class GraphBuilder:
    """Collects nodes and weights; see the module's text for the idea.

    seed: of every random number used.  batch: the batch size written into the
    file.  dynamic_batch: write a symbolic batch "N" instead, and the chains of
    Shape, Gather and Concat that exporters then need.  narrow: the same layers with
    an eighth of the channels and half of the image's side, which tests can run.
    """

    def __init__(
        self,
        name: str,
        opset: int,
        seed: int = 0,
        batch: int = 1,
        dynamic_batch: bool = False,
        narrow: bool = False,
    ):
        self.name = name
        self.opset = opset
        self.batch = batch
        self.dynamic_batch = dynamic_batch
        self._narrow = narrow
        self.rng = np.random.default_rng([seed, *name.encode()])
        self.multiply_adds = 0  # for one input, not for the batch
        self.parameters = 0  # learned ones of the network as trained, before folding
        self._evaluator = Evaluator(opset)
        self._nodes: list = []
        self._weights: dict[str, np.ndarray] = {}
        self._inputs: list = []
        self._outputs: list = []
        self._names: Counter = Counter()

    # -------------------------------------------------------------------- sizes

    def width(self, published: int) -> int:
        """How many channels or features a layer has here."""
        return max(8, published // 8 // 8 * 8) if self._narrow else published

    def side(self, published: int) -> int:
        """How many pixels the input image's side has here."""
        return published // 2 if self._narrow else published

    # ------------------------------------------------------- inputs and outputs

    def _declare(self, name: str, value: np.ndarray):
        batch = "N" if self.dynamic_batch else self.batch
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        return helper.make_tensor_value_info(name, kind, [batch, *value.shape[1:]])

    def input(self, name: str, value: np.ndarray) -> Tensor:
        """A graph input whose first axis is the batch; `value` calibrates."""
        self._inputs.append(self._declare(name, value))
        return Tensor(name, value)

    def output(self, tensor: Tensor, name: str) -> None:
        """Makes `tensor`, which must come from a node, the graph output `name`."""
        for node in self._nodes:
            for names in (node.input, node.output):
                for place, old in enumerate(names):
                    if old == tensor.name:
                        names[place] = name
        self._outputs.append(self._declare(name, tensor.value))

    # -------------------------------------------------------- weights, constants

    def weight(self, name: str, value: np.ndarray, learned: bool = True) -> Tensor:
        """An initializer.  `learned` is False for running statistics and buffers."""
        if name in self._weights:
            raise ValueError(f"two weights named {name}")
        self._weights[name] = np.ascontiguousarray(value)
        if learned:
            self.parameters += value.size
        return Tensor(name, self._weights[name])

    def normal(self, *shape: int, deviation: float = 1.0) -> np.ndarray:
        values = self.rng.standard_normal(shape, np.float32)
        values *= np.float32(deviation)
        return values

    def constant(self, value, scope: str, dtype=np.float32, in_file=None) -> Tensor:
        """A Constant node, as PyTorch's exporter writes scalars and shapes.

        in_file: what the file holds, where that differs from what calibrates.
        """
        array = np.asarray(value, dtype)
        output = self._unique(f"{scope}/Constant")
        stored = array if in_file is None else np.asarray(in_file, dtype)
        self._nodes.append(
            helper.make_node(
                "Constant", [], [output], name=output, value=numpy_helper.from_array(stored)
            )
        )
        return Tensor(output, array)

    # --------------------------------------------------------------------- nodes

    def _unique(self, base: str) -> str:
        self._names[base] += 1
        count = self._names[base]
        return base if count == 1 else f"{base}_{count - 1}"

    def evaluate(self, kind: str, inputs: list[np.ndarray | None], **attributes) -> np.ndarray:
        """Runs one operator on arrays, without adding it to the graph."""
        return self._evaluator.run(kind, inputs, attributes)

    def op(
        self,
        kind: str,
        *inputs: Tensor | None,
        scope: str,
        known: np.ndarray | None = None,
        **attributes,
    ) -> Tensor:
        """Adds a node named after `scope` and returns its output.

        known: the output for the calibration batch, where the caller knows it.
        """
        output = self._unique(f"{scope}/{kind}")
        names = ["" if tensor is None else tensor.name for tensor in inputs]
        self._nodes.append(helper.make_node(kind, names, [output], name=output, **attributes))
        arrays = [None if tensor is None else tensor.value for tensor in inputs]
        value = self.evaluate(kind, arrays, **attributes) if known is None else known
        self._count(kind, arrays, value, attributes)
        return Tensor(output, value)

    def _count(self, kind: str, inputs: list, output: np.ndarray, attributes: dict) -> None:
        if kind == "Conv":
            total = output.size * inputs[1][0].size
        elif kind == "ConvTranspose":
            total = inputs[0].size * inputs[1][0].size
        elif kind in ("Gemm", "MatMul"):
            total = output.size * inputs[0].shape[-1]
        else:
            return
        self.multiply_adds += total // CALIBRATION_BATCH

    def shape_of(
        self, dims: list[int | Dim], source: Tensor, scope: str, constant: bool | None = None
    ) -> Tensor:
        """An int64 tensor holding `dims`, for Reshape or Expand.

        As a Constant where the shape is fixed; otherwise as the chain of Shape,
        Gather, Unsqueeze and Concat that reads it from `source` at run time.
        `constant` overrides the choice.
        """
        if constant is None:
            constant = not self.dynamic_batch
        if constant:
            here = [d.multiple * CALIBRATION_BATCH if isinstance(d, Dim) else d for d in dims]
            there = [d.multiple * self.batch if isinstance(d, Dim) else d for d in dims]
            return self.constant(here, scope, np.int64, in_file=there)
        parts = []
        for dim in dims:
            if isinstance(dim, Dim):
                shape = self.op("Shape", source, scope=scope)
                extent = self.op(
                    "Gather", shape, self.constant(dim.axis, scope, np.int64), scope=scope, axis=0
                )
                if dim.multiple != 1:
                    extent = self.op(
                        "Mul", extent, self.constant(dim.multiple, scope, np.int64), scope=scope
                    )
                axes = self.constant([0], scope, np.int64)
                parts.append(self.op("Unsqueeze", extent, axes, scope=scope))
            else:
                parts.append(self.constant([dim], scope, np.int64))
        return self.op("Concat", *parts, scope=scope, axis=0)

    # ---------------------------------------------------------------------- file

    def model(self) -> onnx.ModelProto:
        weights = [numpy_helper.from_array(value, name) for name, value in self._weights.items()]
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, weights)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=IR_VERSION,
            producer_name="softneuro-bench-generator",
        )
        onnx.checker.check_model(model, full_check=True)
        return model
