#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes 200 random predictions with the metrics that scikit-learn finds for them.

    pip install numpy scikit-learn
    scripts/metric_cases.py [FILE]           # tests/frontend/train/metric_cases.txt
    scripts/metric_cases.py --check [FILE]   # compares FILE with what it would write

tests/frontend/train/metrics_test.cc reads the file. A case has four lines:

    case LOSS THRESHOLD OUTPUT_SIZES TARGET_SIZES    # sizes as 5x3; "-" for no threshold
    eighths of the scores
    the targets
    NAME VALUE NAME VALUE …                          # nan: the metric is not defined

Scores are multiples of 1/8, which are exact in float32, so that some are equal.
"""

import argparse
import pathlib
import sys
import warnings

import numpy as np
from sklearn import metrics

CASES = 200
DEFAULT = pathlib.Path(__file__).parent.parent / "tests/frontend/train/metric_cases.txt"


def mean_area(labels, scores):
    """The macro AUC; NaN if a label is constant, as in scikit-learn from version 1.6 on."""
    if any(len(np.unique(column)) < 2 for column in labels.T):
        return float("nan")
    return metrics.roc_auc_score(labels, scores, average="macro")


def overlaps(truth, found, default, classes, labels=None):
    """F1, which is also called Dice, and the Jaccard index, with their averages."""
    values = {}
    for name, score in [("f1", metrics.f1_score), ("dice", metrics.f1_score),
                        ("iou", metrics.jaccard_score)]:
        values[name] = score(truth, found, average=default, zero_division=0)
        values[f"{name}_macro"] = score(truth, found, average="macro", zero_division=0)
        values[f"{name}_micro"] = score(truth, found, average="micro", labels=labels,
                                        zero_division=0)
        each = score(truth, found, average=None, labels=classes, zero_division=0)
        values.update({f"{name}_{c}": value for c, value in enumerate(each)})
    return values


def of_labels(scores, labels, limit):
    """Metrics of labels. Shapes [N], and shapes of more than two dimensions, have one label per
    element."""
    if scores.ndim != 2 or scores.shape[1] == 1:
        scores, labels = scores.reshape(-1), labels.reshape(-1)
    found = (scores > limit).astype(int)
    truth = (labels > 0.5).astype(int)
    values = {"accuracy": metrics.accuracy_score(truth, found)}
    values["label_accuracy"] = 1 - metrics.hamming_loss(truth, found)
    if truth.ndim == 1:
        # Both classes count; scikit-learn's default counts only those that occur.
        values.update(overlaps(truth, found, "binary", [0, 1], labels=[0, 1]))
        values["auc"] = mean_area(truth[:, None], scores[:, None])
    else:
        values.update(overlaps(truth, found, "macro", None))
        values["auc"] = mean_area(truth, scores)
    return values


def of_classes(scores, target):
    classes = scores.shape[-1]
    scores = scores.reshape(-1, classes)
    if target.ndim > 1 and target.shape[-1] == classes and target.size == scores.size:
        target = target.reshape(-1, classes).argmax(1)
    target = target.reshape(-1)
    counts = target >= 0
    scores, target = scores[counts], target[counts]
    found = scores.argmax(1)
    values = {"accuracy": metrics.accuracy_score(target, found)}
    # Among equal scores the first class ranks higher.
    ranked = scores - 1e-6 * np.arange(classes)
    if classes > 2:
        values["top2"] = metrics.top_k_accuracy_score(target, ranked, k=2, labels=range(classes))
    values.update(overlaps(target, found, "macro", range(classes)))
    if classes == 2:
        values["auc"] = mean_area(target[:, None], (scores[:, 1] - scores[:, 0])[:, None])
    elif len(np.unique(target)) < classes:
        values["auc"] = float("nan")
    else:
        shares = np.exp(scores - scores.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        values["auc"] = metrics.roc_auc_score(target, shares, multi_class="ovr", average="macro",
                                              labels=range(classes))
    return values


def of_values(output, target):
    output, target = output.reshape(-1), target.reshape(-1)
    spread = len(np.unique(target)) > 1
    return {"mae": metrics.mean_absolute_error(target, output),
            "rmse": metrics.root_mean_squared_error(target, output),
            "r2": metrics.r2_score(target, output) if spread else float("nan")}


def draw(rng, number):
    """Loss, threshold, output and target; the kinds of cases alternate."""
    kind = number % 8
    n = int(rng.integers(1, 14))
    sizes = [(n,), (n, 1), (n, int(rng.integers(2, 5))), (n, 1, 2, 3)][number // 8 % 4]
    share = rng.choice([0, 0.2, 0.5, 0.8, 1])
    if kind < 3:
        labels = (rng.random(sizes) < share).astype(float)
        if kind == 2:
            labels = np.where(labels > 0, 0.75, 0.25)
        threshold = [None, 0.25, 0.5][kind]
        return "binary_cross_entropy", threshold, rng.integers(-12, 13, sizes), labels
    if kind == 3:
        return "mse", 0.5, rng.integers(0, 9, sizes), (rng.random(sizes) < share).astype(float)
    if kind < 7:
        classes = int(rng.integers(2, 6))
        rows = [(n,), (n, 3), (n, 2, 2)][number // 8 % 3]
        scores = rng.integers(-12, 13, (*rows, classes))
        target = rng.integers(0, max(1, round(classes * share)), rows)
        if kind == 5:
            target = np.where(rng.random(rows) < 0.3, -100, target)
            target.reshape(-1)[0] = 0
        if kind == 6:
            target = rng.permuted(np.tile(np.linspace(0, 1, classes), (*rows, 1)), axis=-1)
        return "softmax_cross_entropy", None, scores, target
    target = rng.integers(-20, 21, sizes) / 4
    return ["mse", "mae", "huber"][number // 8 % 3], None, rng.integers(-40, 41, sizes), target


def text_of(rng, number):
    loss, threshold, eighths, target = draw(rng, number)
    scores = eighths / 8
    if loss == "binary_cross_entropy":
        probability = 0.5 if threshold is None else threshold
        values = of_labels(scores, target, np.log(probability / (1 - probability)))
    elif loss == "softmax_cross_entropy":
        values = of_classes(scores, target)
    elif threshold is not None:
        values = of_labels(scores, target, threshold)
    else:
        values = {}
    if loss != "softmax_cross_entropy":
        values.update(of_values(scores, target))
    sizes = ["x".join(map(str, array.shape)) for array in (eighths, target)]
    lines = [f"case {loss} {'-' if threshold is None else threshold} {' '.join(sizes)}",
             " ".join(map(str, eighths.reshape(-1))),
             " ".join(f"{value:.9g}" for value in target.reshape(-1)),
             " ".join(f"{name} {value:.12g}" for name, value in values.items())]
    return "\n".join(lines) + "\n"


def differs(written, expected):
    """Compares texts; numbers may differ by rounding."""
    written, expected = written.split(), expected.split()
    if len(written) != len(expected):
        return True
    for one, other in zip(written, expected):
        try:
            if not np.isclose(float(one), float(other), rtol=1e-9, equal_nan=True):
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
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(20)
    cases = "".join(text_of(rng, number) for number in range(CASES))
    text = "# scripts/metric_cases.py, scikit-learn\n" + cases
    if not arguments.check:
        arguments.file.write_text(text)
    elif differs(arguments.file.read_text(), text):
        sys.exit(f"{arguments.file} is not what scikit-learn finds")


if __name__ == "__main__":
    main()
