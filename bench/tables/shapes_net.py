# SPDX-License-Identifier: Apache-2.0
"""The shipped trained model (models/shapes): its pictures, and folders of samples for tuning."""

from __future__ import annotations

import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "models" / "shapes"
MODEL = FOLDER / "shapes.dnn"
INPUT = "image"
GIVEN = 100  # pictures that tuning may see, calibration and held back


def pictures() -> np.ndarray:
    """[400,3,32,32] in 0..1, as the model wants them."""
    return np.load(FOLDER / "test_images.npy").astype(np.float32) / 255


def labels() -> np.ndarray:
    return np.load(FOLDER / "test_labels.npy")


def write_samples(folder: pathlib.Path, samples: np.ndarray) -> pathlib.Path:
    """A folder as `tune --calibration` reads it: one sample for each of `samples`, [n,batch,3,32,32]."""
    for index, sample in enumerate(samples):
        place = folder / f"sample_{index:03}"
        place.mkdir(parents=True, exist_ok=True)
        np.save(place / f"{INPUT}.npy", sample)
    return folder


def calibration(work: pathlib.Path) -> pathlib.Path:
    """A folder with the first GIVEN pictures."""
    return write_samples(work / "calibration" / "shapes", pictures()[:GIVEN, None])
