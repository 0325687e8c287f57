#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes random losses with the values and gradients that PyTorch computes in float64.

    pip install numpy torch
    scripts/loss_cases.py [FILE]           # tests/frontend/train/loss_cases.txt
    scripts/loss_cases.py --check [FILE]   # compares FILE with what it would write

tests/frontend/train/loss_cases_test.cc reads the file. A case has five lines:

    case LOSS OUTPUT_SIZES TARGET_TYPE TARGET_SIZES  # sizes as 5x3
    eighths of the scores
    the targets
    the loss of the batch
    its gradient by the scores
"""

import argparse
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

DEFAULT = pathlib.Path(__file__).parent.parent / "tests/frontend/train/loss_cases.txt"


def focal_of_labels(y, t, gamma, alpha):
    p = torch.sigmoid(y)
    p_t = p * t + (1 - p) * (1 - t)
    loss = F.binary_cross_entropy_with_logits(y, t, reduction="none") * (1 - p_t) ** gamma
    return (loss * (1 if alpha is None else alpha * t + (1 - alpha) * (1 - t))).mean()


def focal_of_classes(y, t, gamma, weights):
    log_p = torch.log_softmax(y, 1).gather(1, t.unsqueeze(1)).squeeze(1)
    weight = torch.ones_like(log_p) if weights is None else weights[t]
    return -(weight * (1 - log_p.exp()) ** gamma * log_p).sum() / weight.sum()


def dice(p, t, dims, epsilon, weights=None):
    """1 - Dice over `dims`, and the mean over examples and, with weights, over classes."""
    both, all_p, all_t = (p * t).sum(dims), p.sum(dims), t.sum(dims)
    loss = 1 - (2 * both + epsilon) / (all_p + all_t + epsilon)
    if weights is None:
        return loss.mean()
    return (loss * weights).sum() / (weights.sum() * loss.shape[0])


def ctc(rng, number):
    """Rows of various lengths, of frames and of labels; labels that repeat; no labels."""
    rows, frames, classes, width = (int(rng.integers(1, high)) for high in (4, 10, 6, 5))
    classes += 1
    if number == 0:
        frames = 40
    blank = int(rng.integers(0, classes))
    choices = [c for c in range(classes) if c != blank]
    # A few rows have more labels than frames.
    counts = rng.integers(0, min(width, frames) + 1, rows)
    labels = rng.choice(choices, (rows, width))
    if number % 3 == 1:
        labels[:, 1:] = np.where(rng.random((rows, width - 1)) < 0.5, labels[:, :-1], labels[:, 1:])
    lengths = rng.integers(1, frames + 1, rows) if number % 2 else np.full(rows, frames)
    target = np.where(np.arange(width) < counts[:, None], labels, -1 if number % 4 < 2 else blank)
    time_first = number % 5 == 4
    eighths = rng.integers(-16, 17, (frames, rows, classes) if time_first else
                           (rows, frames, classes))
    y = torch.tensor(eighths / 8, requires_grad=True)
    log_p = torch.log_softmax(y, 2)
    loss = F.ctc_loss(log_p if time_first else log_p.transpose(0, 1), torch.tensor(labels),
                      torch.tensor(lengths), torch.tensor(counts), blank=blank,
                      zero_infinity=True)
    name = f"ctc:zero_infinity=1,blank={blank}" + (",time=0" if time_first else "")
    if number % 2:
        name += ",lengths=frames"
        target = np.concatenate([lengths[:, None], target], 1)
    return name, eighths, y, target, loss


def draw(rng, number):
    """Loss, eighths of the scores, their tensor, target, and the loss."""
    if number % 2 == 0:
        return ctc(rng, number // 2)
    number //= 2
    sizes = [(3, 4), (2, 3, 5), (2, 3, 2, 3)][number // 7 % 3]
    eighths = rng.integers(-24, 25, sizes)
    y = torch.tensor(eighths / 8, requires_grad=True)
    rows = sizes[:1] + sizes[2:]
    classes = rng.integers(0, sizes[1], rows)
    t = torch.tensor(classes)
    labels = (rng.random(sizes) < 0.4).astype(float)
    weights = torch.tensor(rng.integers(1, 9, sizes[1]) / 4)
    listed = "/".join(f"{w:g}" for w in weights)
    truth = torch.tensor(labels)
    space = tuple(range(2, len(sizes)))
    kind = number % 7
    if kind == 0:
        loss = F.cross_entropy(y, t, weights, label_smoothing=0.125)
        return f"softmax_cross_entropy:axis=1,smoothing=0.125,weights={listed}", eighths, y, classes, loss
    if kind == 1:
        shaped = weights.reshape(-1, *[1] * (len(sizes) - 2))
        loss = F.binary_cross_entropy_with_logits(y, truth, pos_weight=shaped)
        return f"binary_cross_entropy:axis=1,pos_weight={listed}", eighths, y, labels, loss
    if kind == 2:
        loss = F.binary_cross_entropy_with_logits(y, truth, pos_weight=torch.tensor(2.5))
        return "binary_cross_entropy:pos_weight=2.5", eighths, y, labels, loss
    if kind == 3:
        gamma, alpha = [(2, None), (1.5, 0.25), (0, 0.75)][number % 3]
        name = f"focal:gamma={gamma}" + ("" if alpha is None else f",alpha={alpha}")
        return name, eighths, y, labels, focal_of_labels(y, truth, gamma, alpha)
    if kind == 4:
        gamma = [2, 0.5, 3][number % 3]
        name = f"focal:axis=1,gamma={gamma}"
        if number % 2:
            return name, eighths, y, classes, focal_of_classes(y, t, gamma, None)
        return name + f",weights={listed}", eighths, y, classes, focal_of_classes(y, t, gamma, weights)
    if kind == 5:
        whole = number % 2 == 0
        loss = dice(torch.sigmoid(y), truth, tuple(range(1, len(sizes))) if whole else space, 0.5,
                    None if whole or not space else weights) if whole or space else \
            dice(torch.sigmoid(y), truth, (1,), 0.5)
        name = "dice:epsilon=0.5"
        if not whole and space:
            name += f",axis=1,weights={listed}"
        return name, eighths, y, labels, loss
    hot = torch.movedim(F.one_hot(t, sizes[1]), -1, 1).double()
    if not space:
        hot, p = hot.unsqueeze(2), torch.softmax(y, 1).unsqueeze(2)
    else:
        p = torch.softmax(y, 1)
    loss = dice(p, hot, tuple(range(2, p.dim())), 1e-5, weights)
    return f"dice:axis=1,weights={listed}", eighths, y, classes, loss


def text_of(rng, number):
    name, eighths, y, target, loss = draw(rng, number)
    loss.backward()
    sizes = ["x".join(map(str, array.shape)) for array in (eighths, target)]
    kind = "int64" if np.issubdtype(target.dtype, np.integer) else "float32"
    return "\n".join([f"case {name} {sizes[0]} {kind} {sizes[1]}",
                      " ".join(map(str, eighths.reshape(-1))),
                      " ".join(f"{value:g}" for value in target.reshape(-1)),
                      f"{loss.item():.9g}",
                      " ".join(f"{value:.7g}" for value in y.grad.reshape(-1))]) + "\n"


def differs(written, expected):
    """Compares texts; numbers may differ by rounding."""
    written, expected = written.split(), expected.split()
    if len(written) != len(expected):
        return True
    for one, other in zip(written, expected):
        try:
            if not np.isclose(float(one), float(other), rtol=1e-5, atol=1e-8):
                return True
        except ValueError:
            if one != other:
                return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path, nargs="?", default=DEFAULT)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    rng = np.random.default_rng(47)
    text = "# scripts/loss_cases.py, PyTorch\n" + "".join(text_of(rng, n) for n in range(84))
    if not arguments.check:
        arguments.file.write_text(text)
    elif differs(arguments.file.read_text(), text):
        sys.exit(f"{arguments.file} is not what PyTorch computes")


if __name__ == "__main__":
    main()
