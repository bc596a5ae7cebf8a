# SPDX-License-Identifier: Apache-2.0
"""Seeded inputs that look like what the networks were made for.

White noise alone would be a poor stand-in for a photograph: it averages to
the same value everywhere, so after a few strided layers any two noise images
look alike.  `photo_like` has structure at every scale, as photographs have.
"""

from __future__ import annotations

import numpy as np


def _stretched(grid: np.ndarray, size: int) -> np.ndarray:
    """`grid` [channels,k,k] enlarged to [channels,size,size], linearly."""
    place = np.linspace(0, grid.shape[1] - 1, size)
    low = np.minimum(place.astype(int), grid.shape[1] - 2)
    part = place - low
    rows = grid[:, low] * (1 - part)[:, None] + grid[:, low + 1] * part[:, None]
    return rows[:, :, low] * (1 - part) + rows[:, :, low + 1] * part


def photo_like(rng: np.random.Generator, channels: int, size: int) -> np.ndarray:
    """One image [channels,size,size] of mean about 0 and standard deviation 1,
    like a photograph after the customary normalisation: equal power per octave."""
    image = rng.normal(0, 0.5, (channels, 1, 1)) * np.ones((1, size, size))
    cells = 2
    while cells < size:
        # Mostly grey detail with some colour, as natural images have.
        grey = rng.normal(0, 1, (1, cells, cells))
        colour = rng.normal(0, 0.4, (channels, cells, cells))
        image += _stretched(grey + colour, size)
        cells *= 2
    image -= 0.8 * image.mean()
    return (image / image.std()).astype(np.float32)


def images(rng: np.random.Generator, count: int, channels: int, size: int) -> np.ndarray:
    """`count` images [count,channels,size,size]: photograph-like ones first, then
    (from the third on, in turn) normal noise and uniform noise in 0..1, because
    a benchmark often feeds just that."""
    made = []
    for index in range(count):
        if index < 2:
            made.append(photo_like(rng, channels, size))
        elif index % 2 == 0:
            made.append(rng.normal(0, 1, (channels, size, size)))
        else:
            made.append(rng.uniform(0, 1, (channels, size, size)))
    return np.stack(made).astype(np.float32)


def tokens(
    rng: np.random.Generator, count: int, length: int, vocabulary: int
) -> dict[str, np.ndarray]:
    """BERT's three int64 inputs [count,length]: pairs of sentences, padded at the end."""
    ids = np.zeros((count, length), np.int64)
    mask = np.zeros((count, length), np.int64)
    types = np.zeros((count, length), np.int64)
    for row in range(count):
        used = length if row == 0 else int(rng.integers(length // 2, length))
        second = int(rng.integers(used // 3, 2 * used // 3))
        # Words are drawn log-uniformly, which is close to Zipf's law.
        words = np.exp(rng.uniform(np.log(1000), np.log(vocabulary), used)).astype(np.int64)
        ids[row, :used] = np.minimum(words, vocabulary - 1)
        mask[row, :used] = 1
        types[row, second:used] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
