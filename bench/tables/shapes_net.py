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


def calibration(work: pathlib.Path) -> pathlib.Path:
    """A folder with the first GIVEN pictures, as `tune --calibration` reads them."""
    folder = work / "calibration" / "shapes"
    for index, picture in enumerate(pictures()[:GIVEN]):
        place = folder / f"sample_{index:03}"
        place.mkdir(parents=True, exist_ok=True)
        np.save(place / f"{INPUT}.npy", picture[None])
    return folder
