"""Models made after public bug reports of other runtimes, untuned and tuned.

  check_reports.py TOOL FOLDER    FOLDER has a folder for each case

A case is model.onnx, input_J.npy, output_J.npy and case.json: names of inputs and outputs in order,
the absolute tolerance of each output, and arguments of `tune` with which it must hold as well.
Exits with 77 where there are no cases.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

SKIPPED = 77


def run_tool(tool, *words):
    done = subprocess.run([tool, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} exits with {done.returncode}: {done.stderr.strip()}")


def faults(tool, net, case, description, results):
    """What is wrong with the outputs of `net`, one line for each."""
    inputs = [f"{name}={case / f'input_{i}.npy'}" for i, name in enumerate(description["graph_inputs"])]
    words = [word for text in inputs for word in ("--input", text)]
    run_tool(tool, "run", net, *words, "--output-dir", results)
    found = []
    for i, (name, tolerance) in enumerate(zip(description["graph_outputs"], description["tolerance_abs"])):
        actual, expected = np.load(results / f"{name}.npy"), np.load(case / f"output_{i}.npy")
        if actual.shape != expected.shape:
            found.append(f"'{name}' has shape {actual.shape} instead of {expected.shape}")
            continue
        actual, expected = actual.astype(np.float64), expected.astype(np.float64)
        same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        with np.errstate(invalid="ignore"):
            wrong = ~(same | (np.abs(actual - expected) <= tolerance))
        if wrong.any():
            found.append(f"'{name}' is wrong in {wrong.sum()} of {wrong.size} elements")
    return found


def check(tool, case):
    description = json.loads((case / "case.json").read_text())
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            run_tool(tool, "import", case / "model.onnx", "-o", folder / "net.dnn")
            found += faults(tool, folder / "net.dnn", case, description, folder)
            for words in description["tune"]:
                run_tool(tool, "tune", folder / "net.dnn", "-o", folder / "tuned.dnn", "--cache", folder / "cache",
                         *words.split())
                tuned = faults(tool, folder / "tuned.dnn", case, description, folder)
                found += [f"tuned with '{words}': {fault}" for fault in tuned]
        except RuntimeError as error:
            found.append(str(error))
    return found


tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
cases = sorted(file.parent for file in folder.glob("*/case.json"))
if not cases:
    print(f"skipped: no cases in '{folder}'")
    sys.exit(SKIPPED)
failed = 0
for case in cases:
    found = check(tool, case)
    failed += bool(found)
    print(f"{case.name}: {'; '.join(found) or 'right'}")
print(f"{len(cases) - failed} of {len(cases)} right")
sys.exit(failed > 0)
