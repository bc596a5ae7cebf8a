# SPDX-License-Identifier: Apache-2.0
"""Random ONNX graphs from a seed: a chain of operators that fit the values made so far.

`Graph` keeps what is known of each value: data type, shape, and whether its shape depends on data.
The operators are functions in operators_*.py, each of which appends nodes.
"""

from __future__ import annotations

import dataclasses

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, HALF, BFLOAT, DOUBLE = (
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.BFLOAT16,
    TensorProto.DOUBLE,
)
I8, U8, I32, I64, BOOL = (
    TensorProto.INT8,
    TensorProto.UINT8,
    TensorProto.INT32,
    TensorProto.INT64,
    TensorProto.BOOL,
)
FLOATS = (FLOAT, HALF, DOUBLE)
INTEGERS = (I32, I64, I8, U8)
IR_VERSION = 9
OPSETS = (13, 17, 18, 20)
# No value gets larger: the aim is many graphs, not large ones.
MOST_ELEMENTS = 20000
_DIMS = (1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 16, 17)
_NUMPY = {
    FLOAT: np.float32,
    HALF: np.float16,
    BFLOAT: ml_dtypes.bfloat16,
    DOUBLE: np.float64,
    I8: np.int8,
    U8: np.uint8,
    I32: np.int32,
    I64: np.int64,
    BOOL: np.bool_,
}


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    type: int
    shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


class Graph:
    def __init__(self, seed: int):
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.opset = int(self.rng.choice(OPSETS))
        # Sizes of 0 reach every corner and leave little to compute: in one graph of twenty.
        self.with_empty = self.rng.random() < 0.05
        self.values: list[Value] = []
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: dict[str, np.ndarray] = {}
        self.constants: dict[str, np.ndarray] = {}
        self.used: set[str] = set()
        self.quantised = False
        self._names = 0

    # ------------------------------------------------------------------- chance

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def integer(self, low: int, high: int) -> int:
        """From `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def choice(self, items):
        return items[int(self.rng.integers(len(items)))]

    def shape(self, low: int = 0, high: int = 4) -> tuple[int, ...]:
        dims = [int(self.choice(_DIMS)) for _ in range(self.integer(low, high))]
        if self.with_empty and dims and self.chance(0.3):
            dims[self.integer(0, len(dims) - 1)] = 0
        while np.prod(dims) > MOST_ELEMENTS // 4:
            dims[int(np.argmax(dims))] = 2
        return tuple(dims)

    def broadcast_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to `shape`."""
        kept = shape[self.integer(0, len(shape)) :] if self.chance(0.5) else shape
        return tuple(1 if self.chance(0.3) else d for d in kept)

    def array(self, kind: int, shape: tuple[int, ...]) -> np.ndarray:
        if kind == BOOL:
            return np.asarray(self.rng.random(shape) < 0.5)
        if kind in INTEGERS:
            low = 0 if kind == U8 else -8
            return self.rng.integers(low, 9, shape).astype(_NUMPY[kind])
        values = self.rng.normal(0, self.choice((0.3, 1, 1, 4)), shape)
        return np.asarray(values).astype(_NUMPY[kind])

    # ------------------------------------------------------------------- values

    def _name(self, stem: str) -> str:
        self._names += 1
        return f"{stem}{self._names}"

    def input(self, kind: int, shape: tuple[int, ...]) -> Value:
        name = self._name("in")
        self.inputs[name] = self.array(kind, shape)
        value = Value(name, kind, shape)
        self.values.append(value)
        return value

    def constant(self, array, kind: int | None = None) -> Value:
        array = np.asarray(array, None if kind is None else _NUMPY[kind])
        name = self._name("c")
        self.constants[name] = array
        return Value(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

    def random(self, kind: int, shape: tuple[int, ...]) -> Value:
        """A constant or an input of random numbers."""
        if self.chance(0.15) and len(self.inputs) < 5:
            return self.input(kind, shape)
        return self.constant(self.array(kind, shape))

    def any(self, kinds=FLOATS, low: int = 0, high: int = 5, fits=None) -> Value:
        """One of the values made so far, the latest ones more often; else a new input."""
        found = [
            v
            for v in self.values
            if v.type in kinds and low <= v.rank <= high and (fits is None or fits(v))
        ]
        if found and self.chance(0.95):
            back = min(int(self.rng.exponential(2.0)), len(found) - 1)
            return found[-1 - back]
        kind = FLOAT if FLOAT in kinds and self.chance(0.9) else self.choice(list(kinds))
        for _ in range(20):
            value = Value("", kind, self.shape(low, min(high, max(low, 4))))
            if fits is None or fits(value):
                return self.input(kind, value.shape)
        raise NoFit

    def add(self, op: str, inputs: list, outputs: list, domain: str = "", **attributes):
        """A node; `outputs` are pairs of data type and shape, or None for one that is left out."""
        for kind, shape in filter(None, outputs):
            if np.prod(shape, dtype=np.float64) > MOST_ELEMENTS:
                raise NoFit
        names = ["" if v is None else v.name for v in inputs]
        made = [None if o is None else Value(self._name("v"), *o) for o in outputs]
        results = ["" if v is None else v.name for v in made]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(helper.make_node(op, names, results, domain=domain, **attributes))
        self.used.update(names)
        self.values += [v for v in made if v is not None]
        return made[0] if len(made) == 1 else made

    def like(self, op: str, value: Value, **attributes) -> Value:
        """A node of one input whose output has its type and shape."""
        return self.add(op, [value], [(value.type, value.shape)], **attributes)

    # -------------------------------------------------------------------- model

    def model(self) -> onnx.ModelProto:
        made = {name for node in self.nodes for name in node.output}
        ends = [v for v in self.values if v.name in made and v.name not in self.used]
        inner = [v for v in self.values if v.name in self.used and v.name in made]
        if inner and self.chance(0.3):
            ends.append(self.choice(inner))
        symbolic = self.chance(0.3)
        declared = []
        for name, array in self.inputs.items():
            shape = list(array.shape)
            if symbolic:
                shape = [f"{name}_{i}" if self.chance(0.5) else d for i, d in enumerate(shape)]
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            declared.append(helper.make_tensor_value_info(name, kind, shape))
        # Output shapes are left open: they are what is tested.
        outputs = [helper.make_tensor_value_info(v.name, v.type, None) for v in ends]
        graph = helper.make_graph(
            self.nodes,
            f"seed{self.seed}",
            declared,
            outputs,
            [numpy_helper.from_array(a, n) for n, a in self.constants.items()],
        )
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=IR_VERSION
        )


class NoFit(Exception):
    """The operator that was drawn does not go with the values that there are."""
