#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random graphs with softneuro and with ONNX Runtime, and explains the differences.

    python tests/differential/run.py --driver build/release/bin/softneuro_differential --count 1000
    python tests/differential/run.py --driver … --tuned --seconds 60 --seed 5000
    python tests/differential/run.py --driver … --seed 1234 --count 1 --keep FOLDER
    python tests/differential/run.py --driver … --count 100 --plant

Seeds go up from --seed until --count graphs or --seconds are over.  With
--tuned each net is tuned first, with schemas, threads and samples drawn from
the seed.  Differences that nothing explains are written into --keep, as models
with their inputs, cut down to what still differs.  The exit status is 1 if
there is one.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import pathlib
import re
import sys
import time

import numpy as np
import onnx
from engines import Crashed, Refused, SoftNeuro, run_onnxruntime
from generate import random_graph
from judge import (
    BYTE_NOISE,
    FLOAT_NOISE,
    HALF_NOISE,
    differences,
    explained,
    reference_for,
    scatter,
    settled,
    with_outputs,
)

TUNE_SECONDS = 0.05
# Of planted errors. Not noticed: in graphs without float outputs, or of zeros, or as steep as that.
LEAST_NOTICED = 0.9
SCHEMAS = ("cpu:float32", "cpu:float32,cpu:float16", "cpu:float32,cpu:qint8", "cpu")

@dataclasses.dataclass
class Outcome:
    kind: str  # one of the classes of README.md
    detail: str = ""

    @property
    def bad(self) -> bool:
        return self.kind in ("DIFFERS", "REFUSED", "CRASHED")


@dataclasses.dataclass
class Case:
    seed: int
    model: onnx.ModelProto
    feed: dict
    options: str
    schemas: str  # "" if it is not tuned
    calibrated: bool = False


def case_of(seed: int, tuned: bool) -> Case:
    graph = random_graph(seed)
    model = graph.model()
    rng = np.random.default_rng([seed, 1])
    options = f"threads={rng.integers(1, 3)}"
    schemas, calibrated = "", False
    if tuned:
        schemas = SCHEMAS[int(rng.integers(len(SCHEMAS)))]
        # qint8 needs ranges: a model's own may be missing, samples always do.
        calibrated = schemas == SCHEMAS[2] or bool(rng.random() < 0.3)
        options += f" tune={schemas} seconds={TUNE_SECONDS}" + " calibrate=1" * calibrated
    return Case(seed, model, graph.inputs, options, schemas, calibrated)


def is_quantised(model: onnx.ModelProto) -> bool:
    return any(n.op_type in ("QuantizeLinear", "QLinearConv") for n in model.graph.node)


def shown(refusal: Exception) -> str:
    """The first line of a message, without the names that differ from graph to graph."""
    text = str(refusal).splitlines()[0] if str(refusal) else type(refusal).__name__
    return re.sub(r"'[^']*'|\d+", "*", text)[:160]


def compare(case: Case, engine: SoftNeuro) -> Outcome:
    def ours(model: onnx.ModelProto, feed: dict) -> dict:
        return engine.run(model.SerializeToString(), feed, case.options)

    def untuned(model: onnx.ModelProto, feed: dict) -> dict:
        return engine.run(model.SerializeToString(), feed, "threads=1")

    try:
        references, by_evaluator = reference_for(case.model, case.feed)
    except Refused as refusal:
        references, by_evaluator, refused = {}, set(), refusal
    try:
        results = ours(case.model, case.feed)
    except Crashed as crash:
        return Outcome("CRASHED", str(crash))
    except Refused as refusal:
        # What the reference evaluator alone accepts, ONNX Runtime refuses as we do.
        both = not references or by_evaluator
        return Outcome("both refuse" if both else "REFUSED", shown(refusal))
    if not references:
        return Outcome("no judge", shown(refused))
    return verdict(case, results, references, by_evaluator, ours, untuned)


def verdict(
    case: Case, results: dict, references: dict, by_evaluator: set, ours, untuned
) -> Outcome:
    off = differences(results, references)
    if not off:
        return Outcome("same as the reference evaluator" if by_evaluator else "same")
    noise, types = noise_of(case)
    spread = scatter(case.model, case.feed, references)
    if explained(off, spread, references):
        return Outcome("rounding")
    if types:
        spread = scatter(case.model, case.feed, references, *noise)
    found = Outcome(f"rounding of {types}" if types else "rounding")
    for name, gap in off.items():
        if explained({name: gap}, spread, references):
            continue
        reason = settled(
            case.model, case.feed, references, name, ours, untuned, name in by_evaluator, noise
        )
        if not reason:
            return Outcome("DIFFERS", f"{name}: {gap:.3g}, rounding explains {spread[name]:.3g}")
        found = Outcome(reason)
    return found


def noise_of(case: Case) -> tuple[tuple[float, float], str]:
    """The rounding that the schemas of a tuned net bring, and the types that bring it."""
    byte = case.calibrated or is_quantised(case.model)
    byte = byte and ("qint8" in case.schemas or case.schemas == "cpu")
    half = "float16" in case.schemas or case.schemas == "cpu"
    noise = (HALF_NOISE if half else FLOAT_NOISE, BYTE_NOISE if byte else 0)
    return noise, " and ".join(["float16"] * half + ["qint8"] * byte)


class Planted:
    """An engine whose float outputs are 1 % off, to see that this is noticed."""

    def __init__(self, engine: SoftNeuro):
        self._engine = engine

    def run(self, model: bytes, feed: dict, options: str) -> dict:
        results = self._engine.run(model, feed, options)
        return {
            name: (value * np.float32(1.01)).astype(value.dtype)
            if value.dtype in (np.float32, np.float64)
            else value
            for name, value in results.items()
        }

    def close(self) -> None:
        self._engine.close()


# --------------------------------------------------------------------------------- cutting down


def cut_down(case: Case, engine: SoftNeuro, kind: str) -> Case:
    """The first node whose result is already off, with what it needs; else the whole case."""
    for node in case.model.graph.node:
        part = with_outputs(case.model, [node.output[0]])
        feed = {v.name: case.feed[v.name] for v in part.graph.input}
        smaller = dataclasses.replace(case, model=part, feed=feed)
        try:
            if compare(smaller, engine).kind == kind:
                return smaller
        except Exception:  # a part that no engine understands is no smaller case
            continue
    return case


def save(folder: pathlib.Path, case: Case, outcome: Outcome) -> None:
    place = folder / f"seed{case.seed}{'_tuned' if case.schemas else ''}"
    place.mkdir(parents=True, exist_ok=True)
    onnx.save(case.model, place / "model.onnx")
    for index, (name, value) in enumerate(case.feed.items()):
        np.save(place / f"input_{index}.npy", value)
    nodes = "\n".join(
        f"{n.op_type} {list(n.input)} -> {list(n.output)}" for n in case.model.graph.node
    )
    (place / "about.txt").write_text(
        f"seed {case.seed}\n{case.options}\n{outcome.kind}: {outcome.detail}\n"
        f"inputs {list(case.feed)}\n{nodes}\n"
    )


# ------------------------------------------------------------------------------------------ main


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", type=pathlib.Path, required=True, help="softneuro_differential")
    parser.add_argument("--seed", type=int, default=0, help="of the first graph")
    parser.add_argument("--count", type=int, help="of graphs")
    parser.add_argument("--seconds", type=float, help="after which no other graph begins")
    parser.add_argument("--tuned", action="store_true", help="tune each net first")
    parser.add_argument("--plant", action="store_true", help="outputs 1 %% off: all should differ")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for what nothing explains")
    arguments = parser.parse_args()
    if arguments.count is None and arguments.seconds is None:
        parser.error("--count or --seconds says when to stop")
    return arguments


def main() -> int:
    arguments = parsed_arguments()
    engine = SoftNeuro(arguments.driver)
    if arguments.plant:
        engine = Planted(engine)
    classes: collections.Counter = collections.Counter()
    details: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    started, seed, done = time.monotonic(), arguments.seed, 0
    while (arguments.count is None or done < arguments.count) and (
        arguments.seconds is None or time.monotonic() - started < arguments.seconds
    ):
        case = case_of(seed, arguments.tuned)
        outcome = compare(case, engine)
        classes[outcome.kind] += 1
        if outcome.kind in ("both refuse", "no judge", "REFUSED"):
            details[outcome.kind][outcome.detail] += 1
        if outcome.bad and not arguments.plant:
            print(f"seed {seed}: {outcome.kind}: {outcome.detail} ({case.options})", flush=True)
            if arguments.keep:
                save(arguments.keep, cut_down(case, engine, outcome.kind), outcome)
        seed, done = seed + 1, done + 1
    engine.close()
    spent = time.monotonic() - started
    print(f"{done} graphs from seed {arguments.seed}, {spent:.0f} s")
    for kind, count in classes.most_common():
        print(f"{count:7d}  {kind}")
        for detail, times in details[kind].most_common(20):
            print(f"         {times:7d}  {detail}")
    bad = sum(count for kind, count in classes.items() if Outcome(kind).bad)
    if arguments.plant:
        return 0 if bad >= LEAST_NOTICED * done else 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
