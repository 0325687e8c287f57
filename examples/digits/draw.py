# SPDX-License-Identifier: Apache-2.0
"""Draws digits: pen strokes under random affine maps, with noise and blur.

A drawing is a 28x28 array of float32 in 0..1, white ink on black. Drawings are deterministic for
the given random generator. Needs only numpy.
"""

import math
import pathlib
import struct
import sys
import zlib

import numpy as np

SIZE = 28
SEGMENTS = 40  # segments per drawing; shorter strokes are padded with points


def arc(cx, cy, rx, ry, start, stop, steps=10):
    """Points of an elliptic arc; degrees, 0 is right, 90 is down (y grows downward)."""
    angles = np.radians(np.linspace(start, stop, steps + 1))
    return [(cx + rx * math.cos(a), cy + ry * math.sin(a)) for a in angles]


# The ways to write each digit: a list of strokes, each a list of points in the unit square.
GLYPHS = {
    0: [
        [arc(0.5, 0.5, 0.26, 0.38, -90, 270, 18)],
        [arc(0.5, 0.5, 0.20, 0.38, -90, 270, 18)],
    ],
    1: [
        [[(0.5, 0.12), (0.5, 0.88)]],
        [[(0.36, 0.28), (0.53, 0.12), (0.53, 0.88)]],
        [[(0.36, 0.28), (0.53, 0.12), (0.53, 0.88)], [(0.34, 0.88), (0.70, 0.88)]],
    ],
    2: [
        [arc(0.5, 0.34, 0.24, 0.22, 190, 385) + [(0.27, 0.87), (0.77, 0.87)]],
        [arc(0.5, 0.34, 0.22, 0.22, 200, 390)
         + [(0.40, 0.78)] + arc(0.33, 0.82, 0.07, 0.07, -45, -250, 6)
         + [(0.55, 0.80), (0.76, 0.88)]],
    ],
    3: [
        [arc(0.47, 0.31, 0.23, 0.19, 200, 450) + arc(0.47, 0.69, 0.26, 0.20, -90, 160)],
        [[(0.27, 0.13), (0.72, 0.13), (0.47, 0.42)] + arc(0.47, 0.65, 0.26, 0.23, -80, 155)],
    ],
    4: [
        [[(0.58, 0.12), (0.24, 0.62), (0.78, 0.62)], [(0.62, 0.36), (0.62, 0.90)]],
        [[(0.30, 0.12), (0.28, 0.52), (0.72, 0.52)], [(0.70, 0.12), (0.68, 0.90)]],
        [[(0.64, 0.90), (0.64, 0.12), (0.24, 0.64), (0.80, 0.64)]],
    ],
    5: [
        [[(0.73, 0.13), (0.34, 0.13), (0.31, 0.45)] + arc(0.48, 0.64, 0.25, 0.24, -130, 150)],
        [[(0.34, 0.14), (0.32, 0.46)] + arc(0.48, 0.65, 0.24, 0.23, -130, 150),
         [(0.34, 0.14), (0.74, 0.14)]],
    ],
    6: [
        [[(0.66, 0.12), (0.42, 0.34)] + arc(0.49, 0.67, 0.22, 0.21, 190, 560, 16)],
        [arc(0.62, 0.60, 0.36, 0.48, -95, -180, 6)
         + arc(0.48, 0.68, 0.22, 0.20, 180, 540, 16)],
    ],
    7: [
        [[(0.25, 0.14), (0.75, 0.14), (0.42, 0.88)]],
        [[(0.25, 0.14), (0.75, 0.14), (0.42, 0.88)], [(0.36, 0.50), (0.70, 0.50)]],
        [[(0.25, 0.24), (0.27, 0.14), (0.74, 0.14), (0.55, 0.48), (0.46, 0.88)]],
    ],
    8: [
        [arc(0.5, 0.31, 0.20, 0.18, 90, 450, 14) + arc(0.5, 0.69, 0.24, 0.20, -90, 270, 14)],
        [arc(0.5, 0.30, 0.17, 0.17, 90, 450, 14) + arc(0.5, 0.68, 0.20, 0.21, -90, 270, 14)],
    ],
    9: [
        [arc(0.50, 0.33, 0.21, 0.20, 0, 360, 16) + [(0.70, 0.45), (0.62, 0.89)]],
        [arc(0.50, 0.33, 0.21, 0.20, 0, 360, 16) + [(0.71, 0.62)]
         + arc(0.50, 0.68, 0.21, 0.20, 0, 140, 6)],
    ],
}


def _segments(strokes):
    """The strokes as [SEGMENTS, 2, 2] segment ends, padded by repeating the last point."""
    pairs = [(a, b) for stroke in strokes for a, b in zip(stroke, stroke[1:])]
    assert len(pairs) <= SEGMENTS, len(pairs)
    pairs += [(pairs[-1][1], pairs[-1][1])] * (SEGMENTS - len(pairs))
    return np.array(pairs, np.float32)


def _affine_maps(rng, n):
    """[n, 2, 2] matrices and [n, 2] offsets, about the centre, in pixels."""
    angle = np.radians(rng.normal(0.0, 7.0, n))
    shear = rng.normal(0.0, 0.14, n)
    width = SIZE * rng.uniform(0.62, 0.95, n)
    height = SIZE * rng.uniform(0.68, 0.92, n)
    cos, sin = np.cos(angle), np.sin(angle)
    rotation = np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], -2)
    scale = np.zeros((n, 2, 2))
    scale[:, 0, 0] = width
    scale[:, 0, 1] = -shear * height
    scale[:, 1, 1] = height
    offset = SIZE / 2 + rng.normal(0.0, 1.2, (n, 2))
    return (rotation @ scale).astype(np.float32), offset.astype(np.float32)


def _blur(images, sigma):
    """Gaussian blur with one sigma per image: images [n, h, w], sigma [n]."""
    taps = np.arange(-2, 3, dtype=np.float32)
    kernel = np.exp(-0.5 * (taps / sigma[:, None]) ** 2)
    kernel /= kernel.sum(1, keepdims=True)
    for axis in (1, 2):
        pad = [(0, 0), (0, 0), (0, 0)]
        pad[axis] = (2, 2)
        padded = np.pad(images, pad)
        parts = [np.take(padded, range(k, k + SIZE), axis) * kernel[:, k, None, None]
                 for k in range(5)]
        images = sum(parts)
    return images


def draw(rng, digits):
    """Draws each of `digits`; returns float32 [n, 1, 28, 28]."""
    n = len(digits)
    glyphs = np.stack([_segments(GLYPHS[d][rng.integers(len(GLYPHS[d]))]) for d in digits])
    # A shaking hand: every point moves a little; equal points move by the same amount.
    wobble = rng.normal(0.0, 1.0, (n, 1, 1, 4)).astype(np.float32)
    x, y = glyphs[..., 0], glyphs[..., 1]
    glyphs = np.stack(
        [x + 0.02 * np.sin(5.0 * y + 3.0 * wobble[..., 0]) * wobble[..., 1],
         y + 0.02 * np.sin(5.0 * x + 3.0 * wobble[..., 2]) * wobble[..., 3]], -1)
    matrix, offset = _affine_maps(rng, n)
    points = np.einsum("nij,nskj->nski", matrix, glyphs - 0.5) + offset[:, None, None]

    centres = np.arange(SIZE, dtype=np.float32) + 0.5
    pixels = np.stack(np.meshgrid(centres, centres), -1).reshape(1, SIZE * SIZE, 2)
    nearest = np.full((n, SIZE * SIZE), 1e9, np.float32)
    for s in range(SEGMENTS):
        a, b = points[:, None, s, 0], points[:, None, s, 1]
        along = b - a
        length2 = np.maximum((along**2).sum(-1), 1e-6)
        t = np.clip(((pixels - a) * along).sum(-1) / length2, 0.0, 1.0)
        nearest = np.minimum(nearest, ((pixels - a - t[..., None] * along) ** 2).sum(-1))

    radius = rng.uniform(0.7, 2.0, n).astype(np.float32)[:, None]
    ink = np.clip(radius + 0.5 - np.sqrt(nearest), 0.0, 1.0).reshape(n, SIZE, SIZE)
    ink = _blur(ink, rng.uniform(0.3, 0.9, n).astype(np.float32))
    ink *= rng.uniform(0.7, 1.0, (n, 1, 1)).astype(np.float32)
    ink += rng.normal(0.0, 1.0, ink.shape) * rng.uniform(0.0, 0.12, (n, 1, 1))
    return np.clip(ink, 0.0, 1.0).astype(np.float32)[:, None]


def dataset(seed, count, batch=500):
    """`count` drawings and their digits: float32 [count, 1, 28, 28], int64 [count]."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count)
    images = [draw(rng, labels[i:i + batch]) for i in range(0, count, batch)]
    return np.concatenate(images), labels


def png(image):
    """Encodes a gray uint8 picture as PNG."""

    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))

    rows = b"".join(b"\0" + row.tobytes() for row in image)
    header = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
            chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def main():
    """Writes train.npz, held-back.npz (x uint8, y int64) and seven.png into a folder."""
    folder = pathlib.Path(sys.argv[1])
    for name, seed, count in (("train", 1, 40000), ("held-back", 2, 10000)):
        images, labels = dataset(seed, count)
        pixels = np.round(images[:, 0] * 255).astype(np.uint8)
        np.savez(folder / f"{name}.npz", x=pixels, y=labels)
    seven = int(np.flatnonzero(labels == 7)[0])
    (folder / "seven.png").write_bytes(png(pixels[seven]))


if __name__ == "__main__":
    main()
