# SPDX-License-Identifier: Apache-2.0
"""Procedural 32x32 RGB images of ten kinds of drawn shape.

Every shape is a signed distance function evaluated at the pixel centres, for a
whole batch of images at once: negative inside, positive outside, in units of
the shape's own radius.  A distance turns into coverage with a one-pixel ramp,
which gives anti-aliased edges without supersampling and keeps the generator
fast enough to make tens of thousands of images in a few seconds.

Only numpy is needed, so anything that wants more images (a test, a demo) can
import `generate` without the training dependencies.
"""

from __future__ import annotations

import numpy as np

SIZE = 32
CLASSES = (
    "circle",
    "square",
    "triangle",
    "star",
    "cross",
    "ring",
    "stripes",
    "checkerboard",
    "crescent",
    "arrow",
)

# Coordinates run over [-1, 1] across the image, so one unit is SIZE/2 pixels.
_PIXELS_PER_UNIT = SIZE / 2


def _uniform(rng: np.random.Generator, low: float, high: float, count: int) -> np.ndarray:
    """One random number per image, shaped to broadcast over rows and columns."""
    return rng.uniform(low, high, (count, 1, 1)).astype(np.float32)


def _box(x: np.ndarray, y: np.ndarray, half_width, half_height) -> np.ndarray:
    return np.maximum(np.abs(x) - half_width, np.abs(y) - half_height)


def _circle(x, y, rng):
    return np.hypot(x, y) - 0.85


def _square(x, y, rng):
    return _box(x, y, 0.74, 0.74)


def _triangle(x, y, rng):
    root = np.float32(np.sqrt(3) / 2)
    return np.maximum(-y, np.maximum(root * x + 0.5 * y, -root * x + 0.5 * y)) - 0.48


def _star(x, y, rng):
    # Fold the plane onto one half point of the star; its edge is then one line.
    sector = np.float32(np.pi / 5)
    radius = np.hypot(x, y)
    angle = np.abs((np.arctan2(y, x) + sector) % (2 * sector) - sector)
    inner = _uniform(rng, 0.38, 0.52, len(x))
    edge_x, edge_y = inner * np.cos(sector) - 1, inner * np.sin(sector)
    length = np.hypot(edge_x, edge_y)
    return (edge_y * (radius * np.cos(angle) - 1) - edge_x * radius * np.sin(angle)) / length


def _cross(x, y, rng):
    arm = _uniform(rng, 0.18, 0.34, len(x))
    return np.minimum(_box(x, y, 0.92, arm), _box(x, y, arm, 0.92))


def _ring(x, y, rng):
    half_width = _uniform(rng, 0.10, 0.22, len(x))
    return np.abs(np.hypot(x, y) - 0.72) - half_width


def _periodic(t: np.ndarray, period: np.ndarray, phase: np.ndarray) -> np.ndarray:
    """Signed distance along one axis to alternating bands of half a period."""
    return np.abs((t / period + phase) % 1.0 - 0.5) * period - 0.25 * period


def _stripes(x, y, rng):
    period = 1.8 / _uniform(rng, 2.5, 4.2, len(x))
    bands = _periodic(x, period, _uniform(rng, 0, 1, len(x)))
    return np.maximum(_box(x, y, 0.9, 0.9), bands)


def _checkerboard(x, y, rng):
    period = 1.8 / _uniform(rng, 1.8, 3.0, len(x))
    across = _periodic(x, period, _uniform(rng, 0, 1, len(x)))
    down = _periodic(y, period, _uniform(rng, 0, 1, len(x)))
    squares = np.minimum(np.abs(across), np.abs(down)) * np.sign(across) * np.sign(down)
    return np.maximum(_box(x, y, 0.9, 0.9), squares)


def _crescent(x, y, rng):
    offset = _uniform(rng, 0.36, 0.52, len(x))
    return np.maximum(np.hypot(x, y) - 0.92, 0.76 - np.hypot(x - offset, y))


def _arrow(x, y, rng):
    half_shaft = _uniform(rng, 0.10, 0.18, len(x))
    half_head = _uniform(rng, 0.45, 0.62, len(x))
    head_start, tip = 0.05, 0.95
    slope = (tip - head_start) / half_head
    head_edge = (slope * np.abs(y) + x - tip) / np.sqrt(1 + slope * slope)
    head = np.maximum(head_start - x, head_edge)
    return np.minimum(_box(x + 0.4, y, 0.5, half_shaft), head)


_DISTANCES = (
    _circle,
    _square,
    _triangle,
    _star,
    _cross,
    _ring,
    _stripes,
    _checkerboard,
    _crescent,
    _arrow,
)


def _colour(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.uniform(0, 1, (count, 3, 1, 1)).astype(np.float32)


def _contrasting_colour(rng: np.random.Generator, against: np.ndarray, least: float) -> np.ndarray:
    """Random colours at a Euclidean RGB distance of at least `least`."""
    colour = _colour(rng, len(against))
    for _ in range(64):
        close = np.linalg.norm(colour - against, axis=1).reshape(-1) < least
        if not close.any():
            break
        colour[close] = _colour(rng, int(close.sum()))
    return colour


def _grid() -> tuple[np.ndarray, np.ndarray]:
    line = (np.arange(SIZE, dtype=np.float32) + 0.5) / _PIXELS_PER_UNIT - 1
    return line[None, None, :], line[None, :, None]


def _paint(image: np.ndarray, coverage: np.ndarray, colour: np.ndarray) -> np.ndarray:
    return image + coverage[:, None] * (colour - image)


def _coverage(distance: np.ndarray) -> np.ndarray:
    return np.clip(0.5 - distance * _PIXELS_PER_UNIT, 0, 1)


def _background(rng: np.random.Generator, base: np.ndarray) -> np.ndarray:
    """A linear colour gradient plus blotches from a coarse random grid."""
    count = len(base)
    x, y = _grid()
    angle = _uniform(rng, 0, 2 * np.pi, count)
    ramp = (np.cos(angle) * x + np.sin(angle) * y)[:, None]
    image = base + ramp * rng.uniform(-0.14, 0.14, (count, 3, 1, 1)).astype(np.float32)
    blotches = rng.normal(0, 1, (count, 3, 8, 8)).astype(np.float32)
    blotches = blotches.repeat(4, axis=2).repeat(4, axis=3)
    return image + blotches * _uniform(rng, 0, 0.08, count)[:, None]


def _segment(rng: np.random.Generator, count: int, half_length, half_width) -> np.ndarray:
    """Coverage of one randomly placed and turned bar per image."""
    x, y = _grid()
    angle = _uniform(rng, 0, np.pi, count)
    dx, dy = x - _uniform(rng, -1, 1, count), y - _uniform(rng, -1, 1, count)
    along = np.cos(angle) * dx + np.sin(angle) * dy
    across = np.cos(angle) * dy - np.sin(angle) * dx
    return _coverage(_box(along, across, half_length, half_width))


def _sometimes(rng: np.random.Generator, count: int, probability: float) -> np.ndarray:
    return (rng.random((count, 1, 1)) < probability).astype(np.float32)


def _one_class(rng: np.random.Generator, label: int, count: int) -> np.ndarray:
    x, y = _grid()
    base = _colour(rng, count)
    image = _background(rng, base)

    # Thin lines under the shape: clutter that never hides it.
    for _ in range(2):
        lines = _segment(rng, count, _uniform(rng, 0.2, 0.9, count), 0.05)
        image = _paint(image, lines * _sometimes(rng, count, 0.35), _colour(rng, count))

    # The shape itself, turned, scaled, stretched and moved.
    radius = _uniform(rng, 0.46, 0.88, count)
    room = 1.05 - radius
    dx = x - room * _uniform(rng, -1, 1, count)
    dy = y - room * _uniform(rng, -1, 1, count)
    angle = _uniform(rng, 0, 2 * np.pi, count)
    stretch = _uniform(rng, 0.87, 1.15, count)
    u = (np.cos(angle) * dx + np.sin(angle) * dy) / (radius * stretch)
    v = (np.cos(angle) * dy - np.sin(angle) * dx) / (radius / stretch)
    distance = _DISTANCES[label](u, v, rng) * radius
    fill = _contrasting_colour(rng, base, 0.40)
    shade = (u * 0.5)[:, None] * rng.uniform(-0.16, 0.16, (count, 3, 1, 1)).astype(np.float32)
    image = _paint(image, _coverage(distance), fill + shade)

    # An occluding bar over part of it, now and then.
    bar = _segment(rng, count, _uniform(rng, 0.3, 0.9, count), _uniform(rng, 0.07, 0.17, count))
    image = _paint(image, bar * _sometimes(rng, count, 0.4), _colour(rng, count))

    # Camera faults: a 3-tap blur in half of the images, then sensor noise.
    mix = _uniform(rng, 0, 0.3, count)[:, None] * _sometimes(rng, count, 0.5)[:, None]
    for axis in (2, 3):
        neighbours = np.roll(image, 1, axis) + np.roll(image, -1, axis)
        image = image * (1 - 2 * mix) + neighbours * mix
    image = (
        image
        + rng.normal(0, 1, image.shape).astype(np.float32)
        * _uniform(rng, 0.01, 0.09, count)[:, None]
    )
    return np.round(np.clip(image, 0, 1) * 255).astype(np.uint8)


def generate(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` images, uint8 [count,3,32,32] RGB, and their labels, int64 [count].

    Classes come in equal numbers (up to rounding), in an order shuffled by the
    same seed.
    """
    rng = np.random.default_rng(seed)
    labels = np.arange(count, dtype=np.int64) % len(CLASSES)
    rng.shuffle(labels)
    images = np.empty((count, 3, SIZE, SIZE), np.uint8)
    for label in range(len(CLASSES)):
        places = np.flatnonzero(labels == label)
        for start in range(0, len(places), 1000):  # bounds the temporaries' size
            chunk = places[start : start + 1000]
            images[chunk] = _one_class(rng, label, len(chunk))
    return images, labels
