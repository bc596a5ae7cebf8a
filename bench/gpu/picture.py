# SPDX-License-Identifier: Apache-2.0
"""The measured nets as bars: milliseconds, SoftNeuro beside PyTorch."""

from __future__ import annotations

import pathlib
from typing import Any


def draw(rows: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Writes an SVG; one group of bars for each net, batch and precision."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    rows = [row for row in rows if row.get("ms")]
    names = list(dict.fromkeys(who for row in rows for who in row["ms"]))
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.2 * len(names) * len(rows)))
    height = 0.8 / max(1, len(names))
    for index, who in enumerate(names):
        places, lengths = [], []
        for place, row in enumerate(rows):
            if who in row["ms"]:
                places.append(place + (index - (len(names) - 1) / 2) * height)
                lengths.append(row["ms"][who]["median"])
        bars = axes.barh(places, lengths, height, label=who)
        axes.bar_label(bars, fmt="%.3g", padding=2, fontsize=7)
    axes.set_yticks(
        range(len(rows)), [f"{row['net']} · {row['batch']} · {row['precision']}" for row in rows]
    )
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("ms of one run, median")
    axes.legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
