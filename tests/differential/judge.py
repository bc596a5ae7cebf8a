# SPDX-License-Identifier: Apache-2.0
"""Whether two engines' outputs differ by more than rounding explains.

Rounding is measured, not guessed: the model runs again with noise behind each of its nodes, of the
size of the rounding that the data types in question bring (`noisy`).  What the outputs of such runs
scatter is what rounding may do, whatever steep or discontinuous functions the graph is made of.
"""

from __future__ import annotations

import numpy as np
import onnx
from engines import Refused, run_onnxruntime, run_reference
from onnx import TensorProto, helper, numpy_helper, shape_inference

# Noise of a node's result, relative to its elements: float32 sums in another order; float16 results
# and sums.  8-bit tensors have an absolute error, relative to the largest element: half a step of
# 255, for inputs, weights and output.
FLOAT_NOISE = 1e-6
HALF_NOISE = 2e-3
BYTE_NOISE = 1 / 128
# Absolute, of functions that are computed by approximations of bounded results.
APPROXIMATION = 1e-7
RUNS = 6
# The runs are few and the output is one more of their kind: it may be so much farther off.
MARGIN = 6
# What is allowed without any measurement, relative to the output's largest element.
FLOOR = {np.dtype(np.float32): 1e-5, np.dtype(np.float16): 2e-3, np.dtype(np.float64): 1e-6}


def deviation(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """|one - other| per element; 0 for equal infinities and two NaN, else infinite for these."""
    a, b = np.atleast_1d(one.astype(np.float64)), np.atleast_1d(other.astype(np.float64))
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(a - b)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
    gap[~np.isfinite(gap)] = np.inf
    gap[same] = 0
    return gap


def _floor(reference: np.ndarray) -> float:
    if reference.dtype not in FLOOR:
        return 0
    finite = np.abs(reference[np.isfinite(reference)].astype(np.float64))
    return FLOOR[reference.dtype] * max(1.0, finite.max(initial=0))


def differences(results: dict, references: dict) -> dict[str, float]:
    """Output name → how far off, for those that differ at all; infinite: type or shape differ."""
    found = {}
    for name, reference in references.items():
        result = results.get(name)
        if result is None or result.dtype != reference.dtype or result.shape != reference.shape:
            found[name] = np.inf
            continue
        most = float(deviation(result, reference).max(initial=0))
        if most > _floor(reference):
            found[name] = most
    return found


def _float_tensors(model: onnx.ModelProto) -> dict[str, int]:
    """Name → type of the float32 and float16 tensors."""
    inferred = shape_inference.infer_shapes(model, data_prop=True)
    values = [*inferred.graph.input, *inferred.graph.value_info, *inferred.graph.output]
    types = {v.name: v.type.tensor_type.elem_type for v in values}
    floats = (TensorProto.FLOAT, TensorProto.FLOAT16)
    return {name: type for name, type in types.items() if type in floats}


def noisy(model: onnx.ModelProto, seed: int, relative: float, absolute: float) -> onnx.ModelProto:
    """The model with noise on each float tensor that a node makes, and on its float inputs."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    floats = _float_tensors(model)
    random = np.random.default_rng(seed)
    scales = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    narrow = relative > FLOAT_NOISE or absolute > 0  # then any tensor may be rounded
    nodes, constants = [], [
        numpy_helper.from_array(np.array(relative, np.float32), "noise.relative"),
        numpy_helper.from_array(np.array(absolute, np.float32), "noise.absolute"),
        numpy_helper.from_array(np.array(0, np.float32), "noise.zero"),
        numpy_helper.from_array(np.array(APPROXIMATION, np.float32), "noise.approximation"),
    ]

    def add(clean: str, name: str, approximate: bool = False) -> None:
        n = f"{clean}.noise"
        size = f"{n}.size"
        result, half = name, floats[clean.removesuffix(".clean")] == TensorProto.FLOAT16
        if half:  # noise in float32, which is rounded with what it is added to
            nodes.append(
                helper.make_node("Cast", [clean], [f"{clean}.wide"], to=TensorProto.FLOAT)
            )
            clean, name = f"{clean}.wide", f"{name}.wide"
        nodes.append(
            helper.make_node("RandomNormalLike", [clean], [n], seed=float(seed * 1000 + len(nodes)))
        )
        nodes.append(helper.make_node("Abs", [clean], [f"{size}0"]))
        nodes.append(helper.make_node("Mul", [f"{size}0", "noise.relative"], [f"{size}1"]))
        total = f"{size}1"
        if approximate:
            nodes.append(helper.make_node("Add", [total, "noise.approximation"], [f"{size}5"]))
            total = f"{size}5"
        if absolute > 0:
            nodes.append(helper.make_node("ReduceMax", [f"{size}0"], [f"{size}2"]))
            nodes.append(helper.make_node("Mul", [f"{size}2", "noise.absolute"], [f"{size}3"]))
            nodes.append(helper.make_node("Add", [total, f"{size}3"], [f"{size}4"]))
            total = f"{size}4"
        nodes.append(helper.make_node("Mul", [n, total], [f"{n}.product"]))
        nodes.append(helper.make_node("Add", [clean, f"{n}.product"], [f"{n}.sum"]))
        # In every other run what is less than the noise becomes zero, as rounding does it.
        small = [f"{size}0", total] if seed % 2 == 0 else ["noise.absolute", "noise.absolute"]
        nodes.append(helper.make_node("Less", small, [f"{n}.small"]))
        nodes.append(helper.make_node("Where", [f"{n}.small", "noise.zero", f"{n}.sum"], [name]))
        if half:
            nodes.append(helper.make_node("Cast", [name], [result], to=TensorProto.FLOAT16))

    renamed = {}
    for value in model.graph.input:
        if value.name in floats:
            renamed[value.name] = f"{value.name}.noisy"
            add(value.name, renamed[value.name])
    for node in model.graph.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        for i, name in enumerate(copy.input):
            copy.input[i] = renamed.get(name, name)
        if node.op_type in _REQUANTIZED and copy.input[6] in scales:
            # Where integers are made, noise on the scale stands for noise on what is rounded.
            factor = np.float32(1 + relative * random.standard_normal())
            noisy_scale = f"{copy.input[6]}.noisy{len(constants)}"
            constants.append(
                numpy_helper.from_array(scales[copy.input[6]] * factor, noisy_scale)
            )
            copy.input[6] = noisy_scale
        later = []
        for i, name in enumerate(copy.output):
            if name in floats and (narrow or node.op_type not in _MOVES):
                copy.output[i] = f"{name}.clean"
                later.append((copy.output[i], name))
        nodes.append(copy)
        for clean, name in later:
            add(clean, name, node.op_type in _APPROXIMATED)
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    made.graph.initializer.extend(constants)
    return made


# What only moves elements, or chooses among them, is exact in float32.
_MOVES = set(
    "Reshape Transpose Squeeze Unsqueeze Flatten Expand Tile Concat Split Slice Gather Identity"
    " GatherElements GatherND Pad DepthToSpace SpaceToDepth MaxPool GlobalMaxPool ConstantOfShape"
    " Trilu OneHot ReverseSequence Max Min Relu Clip TopK DynamicQuantizeLinear".split()
)
_REQUANTIZED = ("QLinearConv", "QLinearMatMul")  # input 6 is the scale of the result
_APPROXIMATED = set("Sigmoid Tanh Softmax Erf Gelu Mish HardSwish LSTM GRU RNN".split())


def scatter(
    model: onnx.ModelProto,
    feed: dict,
    references: dict,
    relative: float = FLOAT_NOISE,
    absolute: float = 0,
) -> dict[str, float]:
    """Output name → how far ONNX Runtime's noisy outputs are from its own, at most.

    Outputs that it refuses to compute (ReduceMax of nothing) say nothing.
    """
    most = {name: 0.0 for name in references}
    centre = _what_runs(model, feed, references)
    for run in range(RUNS):
        results = _what_runs(noisy(model, run + 1, relative, absolute), feed, references)
        for name in centre.keys() & results.keys():
            if results[name].shape == centre[name].shape:
                gap = float(deviation(results[name], centre[name]).max(initial=0))
                most[name] = max(most[name], gap)
    return most


def _what_runs(model: onnx.ModelProto, feed: dict, names) -> dict:
    """ONNX Runtime's outputs; where it refuses the model, one by one, by the tool that computes them."""
    try:
        return run_onnxruntime(model, feed)
    except Refused:
        found = {}
        for name in names:
            alone = _or_nothing(run_part, run_onnxruntime, model, feed, [name])
            alone = alone or _or_nothing(run_part, run_reference, model, feed, [name])
            found.update(alone or {})
        return found


def explained(off: dict[str, float], spread: dict[str, float], references: dict) -> bool:
    return all(
        gap <= MARGIN * spread[name] + _floor(references[name]) for name, gap in off.items()
    )


def with_outputs(model: onnx.ModelProto, names: list[str]) -> onnx.ModelProto:
    """The part of the model that makes `names`."""
    needed, nodes = set(names), []
    for node in reversed(model.graph.node):
        if needed & set(node.output):
            nodes.insert(0, node)
            needed |= set(node.input)
    inferred = shape_inference.infer_shapes(model)
    known = {v.name: v for v in [*inferred.graph.value_info, *inferred.graph.output]}
    outputs = [helper.make_empty_tensor_value_info(name) for name in names]
    for output in outputs:
        if output.name in known:
            output.type.tensor_type.elem_type = known[output.name].type.tensor_type.elem_type
    graph = helper.make_graph(
        nodes,
        model.graph.name,
        [v for v in model.graph.input if v.name in needed],
        outputs,
        [t for t in model.graph.initializer if t.name in needed],
    )
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def run_part(engine, model: onnx.ModelProto, feed: dict, names: list[str]) -> dict:
    part = with_outputs(model, names)
    return engine(part, {v.name: feed[v.name] for v in part.graph.input})


def reference_for(model: onnx.ModelProto, feed: dict) -> tuple[dict, set[str]]:
    """What the model computes, as far as it is known, and which outputs are the reference
    evaluator's: those that ONNX Runtime refuses. Raises its refusal if there is no output at all.
    """
    try:
        return run_onnxruntime(model, feed), set()
    except Refused as error:
        refusal = error
    found, by_evaluator = {}, set()
    for output in model.graph.output:
        for engine in (run_onnxruntime, run_reference):
            try:
                found.update(run_part(engine, model, feed, [output.name]))
            except Refused:
                continue
            if engine is run_reference:
                by_evaluator.add(output.name)
            break
    if not found:
        raise refusal
    return found, by_evaluator


def _alone(model: onnx.ModelProto, node: onnx.NodeProto, values: dict) -> onnx.ModelProto:
    """A model of one node, whose inputs are the graph's."""
    made = with_outputs(model, [name for name in node.output if name])
    del made.graph.node[:], made.graph.input[:], made.graph.initializer[:]
    made.graph.node.append(node)
    made.graph.input.extend(
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for n, v in values.items()
    )
    return made


def _undefined(node: onnx.NodeProto, values: dict) -> bool:
    value = values[node.input[0]].astype(np.float64)
    if node.op_type in ("Cast", "QuantizeLinear"):
        return bool(np.isnan(value).any())  # infinities saturate, or are cut off before
    return node.op_type == "DynamicQuantizeLinear" and not bool(np.isfinite(value).all())


def _takes_our_side(mine: dict, evaluator: dict, ort: dict | None) -> bool:
    """Where we and ONNX Runtime differ, if it runs the node at all, the evaluator is with us."""
    if ort is None:
        return not differences(mine, evaluator)
    off = differences(mine, ort)
    for name in off:
        if np.isinf(off[name]) and mine[name].shape != ort[name].shape:
            return not differences(mine, evaluator)
        where = np.ravel(deviation(mine[name], ort[name]) > _floor(ort[name]))
        if mine[name].shape != evaluator[name].shape:
            return False
        rest = np.ravel(deviation(mine[name], evaluator[name]))[where]
        if rest.max(initial=0) > _floor(mine[name]):
            return False
    return bool(off)


def _or_nothing(engine, *arguments) -> dict | None:
    try:
        return engine(*arguments)
    except Refused:
        return None


def settled(
    model,
    feed: dict,
    references: dict,
    name: str,
    ours,
    untuned,
    by_evaluator: bool,
    noise=(FLOAT_NOISE, 0),
) -> str:
    """Who errs where output `name` differs: the first node that is off, alone, with three opinions.

    `ours` runs a model with softneuro; the other side is the reference evaluator or ONNX Runtime.
    `untuned` likewise, in float32 alone. `noise`: relative and absolute, of the data types that
    `ours` may take.
    Empty if it may be us.
    """
    theirs = run_reference if by_evaluator else run_onnxruntime
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    for node in with_outputs(model, [name]).graph.node:
        outputs = [n for n in node.output if n]
        other = _or_nothing(run_part, theirs, model, feed, outputs)
        mine = _or_nothing(run_part, ours, model, feed, outputs)
        if mine is None:
            return ""
        if other is None:  # bfloat16, which ONNX Runtime does not hand out
            continue
        part = with_outputs(model, outputs)
        part_feed = {v.name: feed[v.name] for v in part.graph.input}
        off = differences(mine, other)
        if not off or explained(off, scatter(part, part_feed, other, *noise), other):
            continue
        values = {n: feed.get(n, constants.get(n)) for n in node.input if n}
        for n in values:
            if values[n] is None:
                values[n] = run_part(theirs, model, feed, [n])[n]
        if _undefined(node, values):
            return "integers of NaN and infinity are undefined"
        if node.op_type == "Softsign" and np.isinf(values[node.input[0]]).any():
            return "limits at infinity"
        alone = _alone(model, node, values)
        mine, ort, evaluator = (
            _or_nothing(engine, alone, values) for engine in (untuned, run_onnxruntime, run_reference)
        )
        if mine is None:
            return ""
        if not by_evaluator and ort is not None and differences(ort, other):
            return "ONNX Runtime differs from itself"
        if by_evaluator and ort is not None and not differences(mine, ort):
            return "reference evaluator differs from ONNX Runtime"
        if not by_evaluator and evaluator is not None and _takes_our_side(mine, evaluator, ort):
            return "ONNX Runtime differs from the reference evaluator"
        return ""
    # No part is off: what the whole graph gives depends on what else is in it.
    alone = _or_nothing(run_part, theirs, model, feed, [name])
    if not by_evaluator and alone is not None and differences(alone, {name: references[name]}):
        return "ONNX Runtime differs from itself"
    return ""
