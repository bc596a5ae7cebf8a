# SPDX-License-Identifier: Apache-2.0
"""Comparing run times on a machine that is never quite quiet.

All contestants are loaded in one process and take turns, so that whatever slows the machine slows
all of them alike. A round gives each one burst: one run that is not measured (the others have
filled the caches), then a few that are; the burst counts as the median of those. Who begins
changes from round to round. Figures are the median and the minimum of a contestant's bursts, and
for two of them the median over rounds of the ratio of their bursts, with the 95 % interval of a
bootstrap over the rounds.

Where the memory of a contestant is, is settled when it is loaded, and makes it faster or slower by
a per cent or so as long as the process lives. Contestants that are nearer to each other than that
are compared in several processes (`in_processes`, `ratio_over_processes`).

Threads of engines that spin for a while after a run would slow the next contestant down. So each
burst begins only when the process has stopped burning processor time (`settle`).
"""

from __future__ import annotations

import multiprocessing
import os
import random
import statistics
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

FEWEST_ROUNDS = 31
BURST_SECONDS = 0.02
MOST_RUNS = 20  # in a burst
WINDOW_SECONDS = 0.012  # without work, before a burst
RESAMPLES = 10_000


def settle(longest: float = 0.25) -> None:
    """Sleeps until no thread of this process is at work. Kernels that count processor time by ticks
    (4 ms, often) say nothing about shorter windows."""
    end = time.perf_counter() + longest
    time.sleep(0.003)
    while time.perf_counter() < end:
        before = time.process_time()
        time.sleep(WINDOW_SECONDS)
        if time.process_time() - before < 0.0005:
            return


def burst(run: Callable[[], None]) -> float:
    """Median ms of one run."""
    run()
    times = []
    started = time.perf_counter()
    while not times or (time.perf_counter() - started < BURST_SECONDS and len(times) < MOST_RUNS):
        begin = time.perf_counter_ns()
        run()
        times.append((time.perf_counter_ns() - begin) * 1e-6)
    return statistics.median(times)


def take_turns(runs: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[float]]:
    """Ms per burst of each contestant, one list entry a round."""
    names = list(runs)
    bursts: dict[str, list[float]] = {name: [] for name in names}
    for index in range(-1, rounds):  # the first round only warms up
        first = index % len(names)
        for name in names[first:] + names[:first]:
            settle()
            elapsed = burst(runs[name])
            if index >= 0:
                bursts[name].append(elapsed)
    return bursts


def ratio_with_interval(
    slow: list[float], fast: list[float], seed: int = 0
) -> tuple[float, float, float]:
    """Median of slow[i] / fast[i], and the 95 % bootstrap interval of that median."""
    ratios = np.asarray(slow) / np.asarray(fast)
    picks = np.random.default_rng(seed).integers(0, len(ratios), (RESAMPLES, len(ratios)))
    low, high = np.percentile(np.median(ratios[picks], axis=1), [2.5, 97.5])
    return float(np.median(ratios)), float(low), float(high)


def ratio_over_processes(
    slow: list[list[float]], fast: list[list[float]], seed: int = 0
) -> tuple[float, float, float]:
    """The like of bursts per process and round: the median over processes of each one's median
    ratio. The bootstrap picks processes, and rounds in each."""
    picks = np.random.default_rng(seed)
    ratios = [np.asarray(a) / np.asarray(b) for a, b in zip(slow, fast, strict=True)]
    picked = np.stack(
        [
            np.median(of_one[picks.integers(0, len(of_one), (RESAMPLES, len(of_one)))], axis=1)
            for of_one in ratios
        ]
    )
    shape = (RESAMPLES, len(ratios))  # a process that is picked twice brings two resamples
    resampled = picked[picks.integers(0, len(ratios), shape), picks.integers(0, RESAMPLES, shape)]
    medians = np.median(resampled, axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    middle = np.median([np.median(of_one) for of_one in ratios])
    return float(middle), float(low), float(high)


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values)))) if values else 0.0


def difference(outputs: list[np.ndarray], reference: list[np.ndarray]) -> dict[str, float]:
    """How far outputs are from the reference: the largest difference as a share of the range, and
    RMS(out - ref) / RMS(ref); of the worst output."""
    worst, rms = 0.0, 0.0
    if len(outputs) != len(reference):
        raise RuntimeError(f"{len(outputs)} outputs instead of {len(reference)}")
    for value, expected in zip(outputs, reference, strict=True):
        if value.shape != expected.shape:
            raise RuntimeError(f"output of shape {value.shape} instead of {expected.shape}")
        gap = value.astype(np.float64) - expected
        extent = float(expected.max() - expected.min()) or 1.0
        size = float(np.sqrt(np.mean(np.square(expected.astype(np.float64))))) or 1.0
        worst = max(worst, float(np.abs(gap).max()) / extent)
        rms = max(rms, float(np.sqrt(np.mean(np.square(gap)))) / size)
    return {"largest": worst, "rms": rms}


def use_processors(count: int) -> None:
    """Binds this process, and all threads it starts from now on, to `count` processors."""
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, processors[:count])


def _child(pipe: Any, work: Callable[..., Any], arguments: tuple) -> None:
    try:
        pipe.send(("done", work(*arguments)))
    except Exception as error:  # noqa: BLE001 (the parent reports it)
        traceback.print_exc()
        pipe.send(("failed", f"{type(error).__name__}: {error}"))


def in_own_process(work: Callable[..., Any], *arguments: Any) -> Any:
    """`work(*arguments)` in a fresh process: its threads, memory and crashes stay there."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=_child, args=(there, work, arguments))
    child.start()
    there.close()
    try:
        state, result = here.recv()
    except EOFError:
        child.join()
        raise RuntimeError(f"the process ended with status {child.exitcode}") from None
    child.join()
    if state != "done":
        raise RuntimeError(result)
    return result


def in_processes(
    count: int, work: Callable[..., dict[str, list[float]]], names: list[str], *arguments: Any
) -> dict[str, list[list[float]]]:
    """`work(names, *arguments)` in `count` fresh processes, one after the other, each with the names
    in another order, so that each contestant's memory is elsewhere; every other time in the reverse
    of the order before. What each gave, by name."""
    given = []
    for index in range(count):
        order = list(names)
        random.Random(index // 2).shuffle(order)
        given.append(in_own_process(work, order[:: -1 if index % 2 else 1], *arguments))
    return {name: [of_one[name] for of_one in given] for name in names}
