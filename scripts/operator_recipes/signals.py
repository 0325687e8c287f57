# SPDX-License-Identifier: Apache-2.0
"""Signal processing: windows, spectra, Col2Im."""

import numpy as np

from .draw import (
    array,
    between,
    dim,
    flip,
    given,
    ints,
    maybe,
    pick,
    recipe,
    shape,
    some_axes,
    trimmed,
)


@recipe("HannWindow", "HammingWindow", "BlackmanWindow")
def signal_window(rng, _):
    # A symmetric window of size 1 is 0 / 0 in the evaluator.
    return (
        [np.array(rng.integers(2, 20), np.int32)],
        given(periodic=maybe(rng, int(rng.integers(2)))),
        1,
    )


@recipe("Col2Im")
def col2im(rng, _):
    spatial = pick(rng, (1, 2, 2, 3))
    image, block, strides, dilations, pads, counts = [], [], [], [], [[], []], []
    for _ in range(spatial):
        image.append(between(rng, 3, 6))
        block.append(between(rng, 1, 3))
        strides.append(between(rng, 1, 2))
        dilations.append(between(rng, 1, 2) if 2 * (block[-1] - 1) < image[-1] else 1)
        for side in pads:
            side.append(between(rng, 0, block[-1] - 1))
        reach = dilations[-1] * (block[-1] - 1) + 1
        counts.append((image[-1] + pads[0][-1] + pads[1][-1] - reach) // strides[-1] + 1)
    x = array(
        rng,
        [dim(rng, False), between(rng, 1, 2) * int(np.prod(block)), int(np.prod(counts))],
        pick(rng, (np.float32, np.float64, np.int32)),
    )
    return (
        [x, ints(image), ints(block)],
        given(strides=strides, dilations=dilations, pads=pads[0] + pads[1]),
        1,
    )


@recipe("CenterCropPad")
def center_crop_pad(rng, _):
    dims = shape(rng, 1, 4, zero=False)
    axes = sorted({int(a) % len(dims) for a in some_axes(rng, len(dims))}) or [0]
    target = rng.integers(1, 8, len(axes))
    return [array(rng, dims), ints(target)], {"axes": axes}, 1


@recipe("DFT")
def dft(rng, _):
    sizes = [dim(rng, False) for _ in range(rng.integers(2, 4))]
    axis = int(rng.integers(0, len(sizes)))
    inverse, onesided = flip(rng), maybe(rng, flip(rng), 0.4)
    parts = 2 if inverse else 1 if onesided else pick(rng, (1, 2))
    length = maybe(rng, np.array(between(rng, 1, 9), pick(rng, (np.int32, np.int64))))
    if inverse and onesided and length is None and sizes[axis] < 2:
        length = np.array(3, np.int64)
    x = array(rng, sizes + [parts], pick(rng, (np.float32, np.float64)))
    return [x, length, np.array(axis, np.int64)], given(inverse=inverse, onesided=onesided), 1


@recipe("STFT")
def stft(rng, _):
    dtype = pick(rng, (np.float32, np.float64))
    frame = between(rng, 2, 8)
    length = frame + between(rng, 0, 12)
    signal = array(rng, [dim(rng, False), length, 1], dtype)
    kind = pick(rng, (np.int32, np.int64))
    step = np.array(between(rng, 1, 5), kind)
    window = maybe(rng, array(rng, [frame], dtype, 0.1, 1), 0.7)
    size = np.array(frame, kind) if window is None or flip(rng) else None
    return trimmed(signal, step, window, size), given(onesided=maybe(rng, flip(rng))), 1


@recipe("MelWeightMatrix")
def mel_weight_matrix(rng, _):
    kind = pick(rng, (np.int32, np.int64))
    rate = pick(rng, (8000, 16000))
    return (
        [
            np.array(between(rng, 1, 9), kind),
            np.array(pick(rng, (16, 32, 64, 100)), kind),
            np.array(rate, kind),
            np.array(rng.uniform(0, 500), np.float32),
            np.array(rng.uniform(1000, rate / 2), np.float32),
        ],
        given(output_datatype=maybe(rng, pick(rng, (1, 11)))),
        1,
    )
