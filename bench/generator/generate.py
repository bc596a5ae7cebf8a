#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes standard network architectures as ONNX files with seeded random weights.

python generate.py resnet50 -o resnet50.onnx
python generate.py --all /tmp/networks --check
python generate.py --list
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import time

import onnx
from graph_builder import GraphBuilder
from networks import NETWORKS


def built(
    name: str,
    seed: int = 0,
    batch: int = 1,
    dynamic_batch: bool = False,
    narrow: bool = False,
) -> GraphBuilder:
    """The finished graph of a network, evaluated and ready for its `.model()`."""
    network = NETWORKS[name]
    graph = GraphBuilder(name, network.opset, seed, batch, dynamic_batch, narrow)
    network.build(graph)
    return graph


def size_faults(name: str, graph: GraphBuilder) -> list[str]:
    """How the graph's sums differ from the published network's; empty if not."""
    network = NETWORKS[name]
    faults = []
    mmac = graph.multiply_adds / 1e6
    # The published figures are whole, cut off by some and rounded by others.
    if abs(mmac - network.mmac) > 1:
        faults.append(f"{mmac:.1f} MMAC instead of {network.mmac}")
    if graph.parameters != network.parameters:
        faults.append(f"{graph.parameters} parameters instead of {network.parameters}")
    return faults


def write(name: str, path: pathlib.Path, args: argparse.Namespace) -> bool:
    """Generates one file and prints a line on it; False if a check failed."""
    started = time.time()
    graph = built(name, args.seed, args.batch, args.dynamic_batch, args.narrow)
    model = graph.model()
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)
    faults = size_faults(name, graph) if args.check else []
    print(
        f"{name:20s}{graph.multiply_adds / 1e6:9.1f} MMAC{graph.parameters:13d} parameters"
        f"{path.stat().st_size / 1e6:8.1f} MB{len(model.graph.node):6d} nodes"
        f"{time.time() - started:7.1f} s  {path.name}"
        + "".join(f"\n{name}: WRONG: {fault}" for fault in faults),
        flush=True,
    )
    return not faults


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="networks: " + ", ".join(NETWORKS)
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="networks to write")
    parser.add_argument(
        "-o",
        dest="file",
        type=pathlib.Path,
        metavar="FILE",
        help="where to write a single one (default: NAME.onnx)",
    )
    parser.add_argument(
        "--all", type=pathlib.Path, metavar="DIR", help="write into DIR the networks named, or all"
    )
    parser.add_argument("--list", action="store_true", help="list the networks and stop")
    parser.add_argument("--seed", type=int, default=0, help="of the weights (default: 0)")
    parser.add_argument("--batch", type=int, default=1, help="batch size in the file (default: 1)")
    parser.add_argument("--dynamic-batch", action="store_true", help='symbolic batch size "N"')
    parser.add_argument(
        "--narrow",
        action="store_true",
        help="an eighth of the channels, half of the image's side: for tests",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare multiply-adds and parameters with the published ones",
    )
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in NETWORKS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)} (see --list)")
    if args.seed < 0 or args.batch < 1:
        parser.error("the seed must not be negative, the batch must be positive")
    if args.file and (args.all or len(args.names) != 1):
        parser.error("-o goes with exactly one network")
    if args.narrow and args.check:
        parser.error("--check knows the published sizes only, not those of --narrow")
    if not (args.names or args.all or args.list):
        parser.error("name a network, or use --all or --list")
    return args


def main() -> int:
    args = parsed_arguments()
    if args.list:
        print(f"{'network':20s}{'MMAC':>7s}{'parameters':>14s}{'opset':>7s}")
        for name, network in NETWORKS.items():
            print(f"{name:20s}{network.mmac:7d}{network.parameters:14d}{network.opset:7d}")
        return 0
    folder = args.all or pathlib.Path()
    good = True
    for name in args.names or NETWORKS:
        good &= write(name, args.file or folder / f"{name}.onnx", args)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
