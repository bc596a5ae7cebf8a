#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the tables of docs/results/performance.md on this machine.

    python tables.py --build ../../build/release --work /tmp/tables
    python tables.py --build … --work … --tables 2 --nets squeezenet1_1,resnet18 --threads 1

I    untuned, float32, float16, qint8 and hybrid plans of four nets
II   against ONNX Runtime, OpenVINO and ncnn, as far as they are installed; with --untuned,
     SoftNeuro on its default plan
III  the routines that the tuner chose for one net
IV   how long tuning takes
V    models that are quantised already, against the other engines
VI   float32 and bfloat16 plans, against OpenVINO in the precision that it chooses by itself
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import platform
import sys
from collections.abc import Callable
from typing import Any

import engines
import nets
import report
import rounds
import softneuro_c

# Beyond this share of the output's range a float32 engine computes something else.
LARGEST_DIFFERENCE = 1e-3
# The same for reduced precision, as RMS(out - ref) / RMS(ref): broken, not just coarse.
LARGEST_ERROR = 0.5


def summary(bursts: list[float]) -> dict[str, Any]:
    ordered = sorted(bursts)
    return {"median_ms": ordered[len(ordered) // 2], "min_ms": ordered[0], "bursts_ms": bursts}


def prepared(
    makers: dict[str, Callable[[], engines.Engine]], judge: Callable[[str, dict], str | None]
) -> tuple[dict[str, engines.Engine], dict[str, dict]]:
    """Loads all contestants and compares their outputs with the first one's, before any is timed.
    Those that cannot be loaded or compute something else are out, with the reason."""
    ready: dict[str, engines.Engine] = {}
    entries: dict[str, dict] = {}
    reference = None
    for name, make in makers.items():
        try:
            engine = make()
            engine.run()
            outputs = engine.outputs()
            reference = outputs if reference is None else reference
            entries[name] = rounds.difference(outputs, reference)
            fault = judge(name, entries[name])
            if fault:
                raise RuntimeError(fault)
            ready[name] = engine
        except Exception as error:  # noqa: BLE001 (engines fail in many ways)
            entries[name] = {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
    return ready, entries


def compete(
    makers: dict[str, Callable[[], engines.Engine]],
    judge: Callable[[str, dict], str | None],
    timed: list[str],
    count: int,
) -> dict[str, dict]:
    """Contestants by name: times of those in `timed`, differences from the first one's output."""
    ready, entries = prepared(makers, judge)
    runs = {name: ready[name].run for name in timed if name in ready}
    for name, bursts in rounds.take_turns(runs, count).items():
        entries[name].update(summary(bursts))
    return entries


def ratio(entries: dict[str, dict], slow: str, fast: str) -> list[float] | None:
    if any("bursts_ms" not in entries.get(name, {}) for name in (slow, fast)):
        return None
    return list(rounds.ratio_with_interval(entries[slow]["bursts_ms"], entries[fast]["bursts_ms"]))


# --- work done in processes of their own ----------------------------------------------------------


def measure_schemas(
    library: pathlib.Path, model: pathlib.Path, files: dict[str, str], threads: int, count: int
) -> dict:
    """Table I for one net. `files`: column to model or tuned file."""
    rounds.use_processors(threads)
    (inputs,) = nets.inputs_for(model.stem, 1)

    def judge(name: str, gap: dict) -> str | None:
        exact = name in ("untuned", "float32")
        if exact and gap["largest"] > LARGEST_DIFFERENCE:
            return f"differs by {gap['largest']:.1e} of the range"
        return f"error {gap['rms']:.1e}" if gap["rms"] > LARGEST_ERROR else None

    makers: dict[str, Callable[[], engines.Engine]] = {
        "ONNX Runtime": lambda: engines.OnnxRuntime(model, threads, inputs)
    }
    for column, path in files.items():
        makers[column] = lambda path=path: engines.SoftNeuro(
            library, pathlib.Path(path), threads, inputs
        )
    entries = compete(makers, judge, list(files), count)
    singles = [c for c in ("float32", "float16", "qint8") if "median_ms" in entries.get(c, {})]
    best = min(singles, key=lambda c: entries[c]["median_ms"], default=None)
    ratios = {
        "hybrid / best single": ratio(entries, "hybrid", best) if best else None,
        "untuned / hybrid": ratio(entries, "untuned", "hybrid"),
    }
    return {
        "contestants": entries,
        "best_single": best,
        "ratios": {name: value for name, value in ratios.items() if value},
    }


def measure_engines(
    library: pathlib.Path,
    model: pathlib.Path,
    file: pathlib.Path,
    threads: int,
    count: int,
    peers: list[str],
) -> dict:
    """Table II for one net and thread count. `file`: what SoftNeuro loads."""
    rounds.use_processors(threads)
    (inputs,) = nets.inputs_for(model.stem, 1)

    def judge(name: str, gap: dict) -> str | None:
        if gap["largest"] <= LARGEST_DIFFERENCE:
            return None
        return f"differs by {gap['largest']:.1e} of the range"

    makers: dict[str, Callable[[], engines.Engine]] = {
        name: lambda name=name: engines.PEERS[name](model, threads, inputs) for name in peers
    }
    makers[report.OURS] = lambda: engines.SoftNeuro(library, file, threads, inputs)
    entries = compete(makers, judge, list(makers), count)
    ratios = {peer: ratio(entries, peer, report.OURS) for peer in peers}
    return {
        "contestants": entries,
        "ratios": {name: value for name, value in ratios.items() if value},
    }


def measure_quantised(
    library: pathlib.Path,
    model: pathlib.Path,
    quantised: pathlib.Path,
    file: pathlib.Path,
    threads: int,
    count: int,
    peers: list[str],
) -> dict:
    """Table V for one net and thread count: `quantised` in other engines, `file` in SoftNeuro. The
    errors are from `model`, in float32."""
    rounds.use_processors(threads)
    (inputs,) = nets.inputs_for(model.stem, 1)

    def judge(name: str, gap: dict) -> str | None:  # random weights may lose everything in 8 bits
        return None if gap["rms"] < math.inf else "no finite outputs"

    makers: dict[str, Callable[[], engines.Engine]] = {
        "float32": lambda: engines.OnnxRuntime(model, threads, inputs)
    }
    for name in peers:
        makers[name] = lambda name=name: engines.PEERS[name](quantised, threads, inputs)
    makers[report.OURS] = lambda: engines.SoftNeuro(library, file, threads, inputs)
    entries = compete(makers, judge, [*peers, report.OURS], count)
    ratios = {peer: ratio(entries, peer, report.OURS) for peer in peers}
    return {
        "contestants": entries,
        "ratios": {name: value for name, value in ratios.items() if value},
    }


def measure_bfloat16(
    library: pathlib.Path,
    model: pathlib.Path,
    files: dict[str, str],
    threads: int,
    count: int,
) -> dict:
    """Table VI for one net and thread count. `files`: column to tuned file. The errors are from
    ONNX Runtime in float32."""
    rounds.use_processors(threads)
    (inputs,) = nets.inputs_for(model.stem, 1)

    def judge(_name: str, gap: dict) -> str | None:
        return None if gap["rms"] <= LARGEST_ERROR else f"error {gap['rms']:.1e}"

    makers: dict[str, Callable[[], engines.Engine]] = {
        "ONNX Runtime": lambda: engines.OnnxRuntime(model, threads, inputs),
        "OpenVINO": lambda: engines.OpenVino(model, threads, inputs, precision=""),
    }
    for column, path in files.items():
        makers[column] = lambda path=path: engines.SoftNeuro(
            library, pathlib.Path(path), threads, inputs
        )
    entries = compete(makers, judge, ["OpenVINO", *files], count)
    ratios = {
        "OpenVINO / bfloat16": ratio(entries, "OpenVINO", "bfloat16"),
        "float32 / bfloat16": ratio(entries, "float32", "bfloat16"),
    }
    return {
        "contestants": entries,
        "ratios": {name: value for name, value in ratios.items() if value},
    }


# --- the tables -----------------------------------------------------------------------------------


class Bench:
    """One measurement: what was asked for, and all results so far."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.folders = nets.Folders(arguments.build, arguments.models, arguments.work)
        self.can_tune = nets.can_tune(self.folders)
        self.results: dict[str, Any] = {"machine": machine(), "rounds": arguments.rounds}
        self.results["machine"]["softneuro"] = rounds.in_own_process(
            library_version, self.folders.library
        )
        if not self.can_tune:
            print_line("this build's tool has no `tune`: SoftNeuro is measured untuned")
        self.put(
            "conditions",
            "Conditions",
            report.conditions(self.results["machine"], arguments.rounds),
        )

    def tuned(self, net: str, column: str, threads: int) -> nets.Tuned:
        print_line(f"{net}: tuning {column}, {threads} threads")
        return nets.tuned(self.folders, net, column, threads, self.arguments.tune_again)

    def best_file(self, net: str, column: str, threads: int) -> pathlib.Path:
        """Tuned if that can be had, else the model; what went wrong is listed."""
        if self.can_tune:
            try:
                return self.tuned(net, column, threads).path
            except RuntimeError as error:
                print_line(f"{net}: measured untuned: {error}")
                self.results.setdefault("untuned", []).append(f"{net}, {column}: {error}")
        return self.folders.model(net)

    def in_rounds(self, work: Callable[..., dict], *arguments: Any) -> dict:
        try:
            return rounds.in_own_process(work, self.folders.library, *arguments)
        except RuntimeError as error:
            return {"contestants": {"all": {"failed": str(error)}}, "ratios": {}}

    def table_1(self) -> None:
        threads = max(self.arguments.threads)
        results = self.results.setdefault("schemas", {})
        columns = ["untuned", *(nets.SCHEMA_COLUMNS if self.can_tune else [])]
        for net in self.chosen(nets.TABLE_NETS):
            model = self.folders.model(net)
            files, failed = {"untuned": str(model)}, {}
            for column in columns[1:]:
                try:
                    files[column] = str(self.tuned(net, column, threads).path)
                except RuntimeError as error:
                    failed[column] = {"failed": str(error)}
            print_line(f"{net}: measuring {', '.join(files)}")
            results[net] = self.in_rounds(
                measure_schemas, model, files, threads, self.arguments.rounds
            )
            results[net]["contestants"].update(failed)
            self.put("table I", "Table I: schemas", report.table_i(results, columns, threads))

    def peers(self) -> list[str]:
        installed = engines.installed_peers()
        wanted = self.arguments.engines or installed
        if absent := [name for name in wanted if name not in installed]:
            raise SystemExit(f"--engines {', '.join(absent)}: installed are {', '.join(installed)}")
        return [name for name in installed if name in wanted]

    def table_2(self) -> None:
        peers = self.peers()
        untuned = self.arguments.untuned or not self.can_tune
        kind = " untuned" if self.arguments.untuned else ""
        every = self.results.setdefault(f"engines_compared{kind}", {})
        for threads in self.arguments.threads:
            results = every.setdefault(str(threads), {})
            for net in self.chosen(nets.ALL_NETS):
                model = self.folders.model(net)
                file = model if untuned else self.best_file(net, "float32", threads)
                print_line(f"{net}: measuring {', '.join(peers)}, {threads} threads")
                results[net] = self.in_rounds(
                    measure_engines, model, file, threads, self.arguments.rounds, peers
                )
                self.put(
                    f"table II{kind}, {threads}",
                    f"Table II: engines, float32{kind}, "
                    f"{threads} thread{'s' if threads > 1 else ''}",
                    report.table_ii(results, peers, threads, not untuned),
                )

    def table_3(self) -> None:
        net, threads = self.arguments.table3_net, max(self.arguments.threads)
        file = self.best_file(net, "hybrid", threads)
        rows = nets.run_tool(self.folders, "profile", str(file), "--threads", str(threads))[
            "layers"
        ]
        self.results["routines"] = {net: rows}
        self.put("table III", "Table III: routines", report.table_iii(net, rows, threads))

    def table_4(self) -> None:
        if not self.can_tune:
            return
        threads = max(self.arguments.threads)
        results = self.results.setdefault("tuning", {})
        for net in self.chosen(nets.TABLE_NETS):
            for column in ("float32", "hybrid"):
                try:
                    made = self.tuned(net, column, threads)
                except RuntimeError as error:
                    print_line(f"{net}: {error}")
                    continue
                results.setdefault(net, {})[column] = {
                    "cold_seconds": made.cold_seconds,
                    "warm_seconds": made.warm_seconds,
                }
        if results:
            self.put("table IV", "Table IV: tuning", report.table_iv(results, threads))

    def table_5(self) -> None:
        peers = [name for name in self.peers() if name != "ncnn"]  # it reads no quantised ONNX
        column = "quantised7" if self.arguments.reduce_range else "quantised"
        every = self.results.setdefault(column, {})
        for threads in self.arguments.threads:
            results = every.setdefault(str(threads), {})
            for net in self.chosen(nets.ALL_NETS):
                quantised = self.folders.quantised_model(net, column)
                file = self.tuned(net, column, threads).path if self.can_tune else quantised
                print_line(f"{net}: measuring {', '.join(peers)}, {threads} threads, in 8 bits")
                results[net] = self.in_rounds(
                    measure_quantised,
                    self.folders.model(net),
                    quantised,
                    file,
                    threads,
                    self.arguments.rounds,
                    peers,
                )
                self.put(
                    f"table V, {column}, {threads}",
                    f"Table V: engines, 8 bits, {threads} thread{'s' if threads > 1 else ''}"
                    + (", weights in seven bits" if self.arguments.reduce_range else ""),
                    report.table_v(results, peers, threads),
                )

    def table_6(self) -> None:
        if "OpenVINO" not in self.peers():
            raise SystemExit("--tables 6: OpenVINO is not installed")
        every = self.results.setdefault("bfloat16", {})
        for threads in self.arguments.threads:
            results = every.setdefault(str(threads), {})
            for net in self.chosen(nets.ALL_NETS):
                files = {
                    column: str(self.tuned(net, column, threads).path)
                    for column in ("float32", "bfloat16")
                }
                print_line(f"{net}: measuring OpenVINO, float32, bfloat16, {threads} threads")
                results[net] = self.in_rounds(
                    measure_bfloat16,
                    self.folders.model(net),
                    files,
                    threads,
                    self.arguments.rounds,
                )
                self.put(
                    f"table VI, {threads}",
                    f"Table VI: bfloat16, {threads} thread{'s' if threads > 1 else ''}",
                    report.table_vi(results, threads),
                )

    def chosen(self, names: list[str]) -> list[str]:
        wanted = self.arguments.nets
        return [name for name in names if not wanted or name in wanted]

    def put(self, name: str, title: str, text: str) -> None:
        """After every net, so that an interrupted measurement is not lost."""
        if self.arguments.markdown:
            report.put(self.arguments.markdown, name, title, text)
        if self.arguments.json:
            self.arguments.json.write_text(json.dumps(self.results, indent=1) + "\n")


def library_version(library: pathlib.Path) -> str:
    return softneuro_c.Library(library).version()


def machine() -> dict[str, Any]:
    info = pathlib.Path("/proc/cpuinfo")
    fields: dict[str, str] = {}
    for line in info.read_text().splitlines() if info.exists() else []:
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    flags = set(fields.get("flags", "").split())
    known = ["avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_int8"]
    return {
        "processor": fields.get("model name", platform.processor()),
        "features": ", ".join(flag for flag in known if flag in flags),
        "processors": len(os.sched_getaffinity(0)),
        "engines": engines.installed_peers(),
    }


def print_line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def parsed_arguments() -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(",")]

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    path = pathlib.Path
    parser.add_argument("--build", type=path, required=True, help="build folder (bin/, lib/)")
    parser.add_argument(
        "--work", type=path, required=True, help="tuned files and samples; kept for the next time"
    )
    parser.add_argument("--models", type=path, help="generated networks (default: WORK/models)")
    parser.add_argument("--tables", type=numbers, default=[1, 2, 3, 4], help="default: 1,2,3,4")
    parser.add_argument(
        "--nets", type=lambda text: text.split(","), help="only these of a table's networks"
    )
    parser.add_argument(
        "--engines",
        type=lambda text: text.split(","),
        help="only these of " + ", ".join(engines.PEERS),
    )
    parser.add_argument(
        "--untuned", action="store_true", help="table II with SoftNeuro on its default plan"
    )
    parser.add_argument(
        "--reduce-range",
        action="store_true",
        help="table V with weights in seven bits, as is recommended for processors without VNNI",
    )
    parser.add_argument("--table3-net", default="vgg16", help="default: vgg16")
    parser.add_argument("--threads", type=numbers, default=[1, 2], help="default: 1,2")
    parser.add_argument(
        "--rounds", type=int, default=rounds.FEWEST_ROUNDS, help="default: %(default)s"
    )
    parser.add_argument(
        "--tune-again", action="store_true", help="not the tuned files of last time"
    )
    parser.add_argument("--markdown", type=path, help="the document to put the tables into")
    parser.add_argument("--json", type=path, help="all figures, every burst included")
    arguments = parser.parse_args()
    arguments.models = arguments.models or arguments.work / "models"
    for name in ("build", "work", "models"):
        setattr(arguments, name, getattr(arguments, name).resolve())
    return arguments


def main() -> int:
    arguments = parsed_arguments()
    bench = Bench(arguments)
    for number in arguments.tables:
        getattr(bench, f"table_{number}")()
    if not arguments.json and not arguments.markdown:
        print(json.dumps(bench.results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
