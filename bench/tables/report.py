# SPDX-License-Identifier: Apache-2.0
"""Results as Markdown tables, and their places in a document.

A document keeps its own words: each table replaces what stands between its two marks, or is added
at the end the first time.
"""

from __future__ import annotations

import pathlib
import re

from rounds import geometric_mean

OURS = "SoftNeuro"

HEAD = """# Performance

Measured by `bench/tables` with the networks of `bench/generator`; its README says how. All
contestants of a row took turns in one process, so ratios carry over to other machines of the kind
better than milliseconds do. Tables are written by the program and can be made again with it.
"""


def table(titles: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(titles) + " |", "| --- " * len(titles) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def times(entry: dict | None) -> str:
    """Median / minimum ms; why there are none, where there are none."""
    if entry is None:
        return "–"
    if "failed" in entry:
        return "failed"
    digits = 3 if entry["median_ms"] < 10 else 2 if entry["median_ms"] < 100 else 1
    return f"{entry['median_ms']:.{digits}f} / {entry['min_ms']:.{digits}f}"


def interval(ratio: list[float] | None) -> str:
    if ratio is None:
        return "–"
    return f"{ratio[0]:.2f} [{ratio[1]:.2f}, {ratio[2]:.2f}]"


def failures(results: dict[str, dict]) -> str:
    """A list of what went wrong, if anything did."""
    lines = [
        f"- {net}, {name}: {entry['failed']}"
        for net, contestants in results.items()
        for name, entry in contestants["contestants"].items()
        if "failed" in entry
    ]
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def conditions(machine: dict, rounds: int) -> str:
    """What was measured with and on."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["engines"].items())
    return (
        f"{machine['processors']} processors: {machine['processor']} ({machine['features']}). "
        f"{rounds} rounds. Engines: {OURS} {machine['softneuro']}, {versions}.\n"
    )


def table_i(results: dict[str, dict], columns: list[str], threads: int) -> str:
    """Schemas side by side."""
    titles = ["net", *columns, "hybrid / best single", "untuned / hybrid"]
    rows = []
    for net, result in results.items():
        entries = result["contestants"]
        ratios = result["ratios"]
        row = [net]
        for column in columns:
            entry = entries.get(column)
            cell = times(entry)
            if entry and "rms" in entry and column != "untuned":
                cell += f"<br>error {entry['rms']:.1e}"
            row.append(cell)
        best = ratios.get("hybrid / best single")
        name = f" ({result['best_single']})" if best else ""
        rows.append([*row, interval(best) + name, interval(ratios.get("untuned / hybrid"))])
    return (
        f"Median / minimum ms at {threads} threads; the error is RMS(out − ref) / RMS(ref) against "
        "ONNX Runtime in float32.\n\n" + table(titles, rows) + failures(results)
    )


def summaries(results: dict[str, dict], peers: list[str]) -> str:
    """A line for each peer."""
    text = ""
    for peer in peers:
        found = [r["ratios"][peer] for r in results.values() if peer in r["ratios"]]
        if not found:
            continue
        faster = sum(low >= 1 for _, low, _ in found)
        mean = geometric_mean([median for median, _, _ in found])
        text += (
            f"\nAgainst {peer}: at least as fast on {faster} of {len(found)} nets (lower bound of "
            f"the interval), geometric mean of the ratios {mean:.2f}.\n"
        )
    return text


def table_ii(results: dict[str, dict], peers: list[str], threads: int, tuned: bool) -> str:
    """Engines side by side."""
    titles = ["net", OURS, *peers, *[f"{peer} / {OURS}" for peer in peers], "largest difference"]
    rows = []
    for net, result in results.items():
        entries, ratios = result["contestants"], result["ratios"]
        largest = entries.get(OURS, {}).get("largest")
        rows.append(
            [
                net,
                *[times(entries.get(name)) for name in [OURS, *peers]],
                *[interval(ratios.get(peer)) for peer in peers],
                "–" if largest is None else f"{largest:.1e}",
            ]
        )
    text = table(titles, rows)
    text += summaries(results, peers)
    return (
        f"Median / minimum ms at {threads} thread{'s' if threads > 1 else ''}; ratios above 1: "
        f"{OURS} is faster. {OURS} is {'tuned with --schemas cpu:float32' if tuned else 'not tuned'}"
        f"; the largest difference of its output from ONNX Runtime's is a share of the output's "
        "range.\n\n" + text + failures(results)
    )


def rows_with_errors(
    results: dict[str, dict], contestants: list[str], ratios: list[str]
) -> list[list[str]]:
    """One per net: times and error of each contestant, then the ratios."""
    rows = []
    for net, result in results.items():
        cells = []
        for name in contestants:
            entry = result["contestants"].get(name)
            error = f"<br>error {entry['rms']:.1e}" if entry and "rms" in entry else ""
            cells.append(times(entry) + error)
        rows.append([net, *cells, *[interval(result["ratios"].get(name)) for name in ratios]])
    return rows


def table_v(results: dict[str, dict], peers: list[str], threads: int) -> str:
    """Engines side by side on quantised models."""
    rows = rows_with_errors(results, [OURS, *peers], peers)
    titles = ["net", OURS, *peers, *[f"{peer} / {OURS}" for peer in peers]]
    return (
        f"Median / minimum ms at {threads} thread{'s' if threads > 1 else ''}; ratios above 1: "
        f"{OURS} is faster. The same files for all, made by ONNX Runtime's quantizer (QDQ, unsigned "
        "activations, signed weights per channel, 16 samples); the error is RMS(out − ref) / "
        "RMS(ref) against the model in float32.\n\n"
        + table(titles, rows)
        + summaries(results, peers)
        + failures(results)
    )


def table_vi(results: dict[str, dict], threads: int) -> str:
    """bfloat16 against float32, and against OpenVINO as it comes."""
    contestants = ["float32", "bfloat16", "OpenVINO"]
    ratios = ["OpenVINO / bfloat16", "float32 / bfloat16"]
    return (
        f"Median / minimum ms at {threads} thread{'s' if threads > 1 else ''}. float32 and "
        f"bfloat16: {OURS}, tuned with those schemas; OpenVINO in the precision that it chooses. "
        "The error is RMS(out − ref) / RMS(ref) against ONNX Runtime in float32.\n\n"
        + table(["net", *contestants, *ratios], rows_with_errors(results, contestants, ratios))
        + "".join(
            f"\n{name}: geometric mean {geometric_mean(found):.2f}, least {min(found):.2f}.\n"
            for name in ratios
            if (found := [r["ratios"][name][0] for r in results.values() if name in r["ratios"]])
        )
        + failures(results)
    )


def table_iii(net: str, rows: list[dict], threads: int) -> str:
    """The best routine of each layer."""
    cells = [
        [
            row["layer"],
            row["type"],
            f"`{row['routine']}`",
            row.get("params", ""),
            row["output"],
            f"{row['us']:.1f}",
        ]
        for row in rows
    ]
    titles = ["layer", "type", "routine", "parameters", "output", "µs"]
    return f"{net}, hybrid, {threads} threads.\n\n" + table(titles, cells)


def table_iv(tunings: dict[str, dict[str, dict]], threads: int) -> str:
    """Seconds of tuning, the start of the program and the import included."""
    columns = list(dict.fromkeys(column for made in tunings.values() for column in made))
    rows = []
    for net, made in tunings.items():
        cells = [
            f"{made[c]['cold_seconds']:.1f} / {made[c]['warm_seconds']:.2f}" if c in made else "–"
            for c in columns
        ]
        rows.append([net, *cells])
    return (
        f"Seconds of `softneuro tune` at {threads} threads, import of the model and writing of the "
        "file included: with an empty profile cache / again with that cache.\n\n"
        + table(["net", *columns], rows)
    )


def put(document: pathlib.Path, name: str, title: str, text: str) -> None:
    """Writes a section `name`; `title` is its heading when it is new."""
    begin, end = f"<!-- bench/tables: {name} -->", f"<!-- end of {name} -->"
    old = document.read_text() if document.exists() else HEAD
    section = f"{begin}\n{text.rstrip()}\n{end}"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if pattern.search(old):
        new = pattern.sub(lambda _: section, old)
    else:
        new = f"{old.rstrip()}\n\n## {title}\n\n{section}\n"
    document.write_text(new)
