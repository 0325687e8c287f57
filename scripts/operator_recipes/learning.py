# SPDX-License-Identifier: Apache-2.0
"""Operators of ai.onnx.ml except trees, and the optimizers of ai.onnx.preview.training."""

import numpy as np

from .draw import (
    ML,
    TRAINING,
    Case,
    array,
    between,
    dim,
    dims,
    flip,
    given,
    maybe,
    pick,
    real,
    reals,
    recipe,
    shape,
    strings,
)

TYPES = (np.float32, np.float64, np.int32, np.int64)
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")


def table(rng, types=TYPES, low=-3, high=3):
    return array(rng, dims(rng, 2), pick(rng, types), low, high)


@recipe("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(rng, _):
    sizes = shape(rng, 1, 3, zero=False)
    x = strings(rng, sizes) if rng.random() < 0.2 else array(rng, sizes, pick(rng, TYPES))
    return [x, array(rng, [1, dim(rng, False)], np.int64, 0, sizes[-1] - 1)], {}, 1


@recipe("Binarizer", domain=ML)
def binarizer(rng, _):
    return (
        [array(rng, shape(rng), pick(rng, TYPES))],
        given(threshold=maybe(rng, real(rng, -2, 2))),
        1,
    )


@recipe("CategoryMapper", domain=ML)
def category_mapper(rng, _):
    words = ["a", "b", "cat", "Dog"]
    numbers = [int(n) for n in rng.permutation(9)[:4]]
    attributes = {
        "cats_strings": words,
        "cats_int64s": numbers,
        **given(default_string=maybe(rng, "none"), default_int64=maybe(rng, 77)),
    }
    x = strings(rng, dims(rng, 1)) if flip(rng) else array(rng, dims(rng, 1), np.int64, 0, 9)
    return Case([x], attributes, opset=1, oracle="onnxruntime")


@recipe("FeatureVectorizer", domain=ML)
def feature_vectorizer(rng, _):
    rows = dim(rng, False)
    parts = [
        array(rng, [rows, dim(rng, False)], pick(rng, TYPES)) for _ in range(between(rng, 1, 3))
    ]
    parts = [p.astype(parts[0].dtype) for p in parts]
    return parts, {"inputdimensions": [p.shape[1] for p in parts]}, 1


@recipe("Imputer", domain=ML)
def imputer(rng, _):
    x = table(rng)
    count = pick(rng, (1, x.shape[1]))
    if x.dtype.kind == "f":
        places = rng.random(x.shape) < 0.4
        replaced = pick(rng, (float("nan"), 2.0))
        return (
            [np.where(places, replaced, x).astype(x.dtype)],
            {"imputed_value_floats": reals(rng, count), "replaced_value_float": replaced},
            1,
        )
    return (
        [x],
        {
            "imputed_value_int64s": [between(rng, 5, 9) for _ in range(count)],
            "replaced_value_int64": between(rng, -2, 2),
        },
        1,
    )


@recipe("LabelEncoder", domain=ML)
def label_encoder(rng, _):
    kinds = {
        "string": ["a", "b", "cat", "Dog"],
        "int64": [1, 2, 3, 5],
        "float": [0.5, 1.0, 2.0, -3.0],
    }
    source, target = pick(rng, tuple(kinds)), pick(rng, tuple(kinds))
    keys, values = kinds[source], list(rng.permutation(kinds[target]))
    values = [type(kinds[target][0])(v) for v in values]
    default = {"string": "none", "int64": 99, "float": 0.25}[target]
    sizes = shape(rng)
    if source == "string":
        x = strings(rng, sizes)
    else:
        x = np.asarray(rng.choice(keys + [7], sizes)).astype(
            {"int64": np.int64, "float": np.float32}[source]
        )
    return (
        [x],
        {
            f"keys_{source}s": keys,
            f"values_{target}s": values,
            **given(**{f"default_{target}": maybe(rng, default)}),
        },
        1,
    )


@recipe("LinearRegressor", domain=ML)
def linear_regressor(rng, _):
    x = table(rng, (np.float32, np.float64))
    targets = between(rng, 1, 4)
    # Without intercepts the evaluator's results are NaN.
    return (
        [x],
        {
            "coefficients": reals(rng, targets * x.shape[1]),
            "targets": targets,
            "intercepts": reals(rng, targets),
        },
        1,
    )


@recipe("LinearClassifier", domain=ML)
def linear_classifier(rng, _):
    x = table(rng, (np.float32, np.float64))
    classes = between(rng, 2, 4)
    rows = classes if classes > 2 else pick(rng, (1, 2))
    labels = {"classlabels_ints": [int(n) for n in rng.permutation(9)[:classes]]}
    if flip(rng):
        labels = {"classlabels_strings": ["no", "yes", "maybe", "never"][:classes]}
    return (
        [x],
        given(
            coefficients=reals(rng, rows * x.shape[1]),
            intercepts=reals(rng, rows),
            **labels,
            post_transform=maybe(rng, pick(rng, TRANSFORMS)),
            multi_class=maybe(rng, flip(rng)),
        ),
        2,
    )


@recipe("Normalizer", domain=ML)
def normalizer(rng, _):
    norm = pick(rng, ("MAX", "L1", "L2"))
    # "Max: Y = X / max(X)"; the evaluator divides by the maximum magnitude.
    return [table(rng, low=0.1 if norm == "MAX" else -3)], {"norm": norm}, 1


@recipe("OneHotEncoder", domain=ML)
def one_hot_encoder(rng, _):
    zeros = given(zeros=maybe(rng, 1))  # 0 makes an unknown category an error
    if rng.random() < 0.4:
        return (
            [strings(rng, shape(rng, 1, 3))],
            {"cats_strings": ["a", "b", "cat", "Dog"], **zeros},
            1,
        )
    x = array(rng, shape(rng, 1, 3), pick(rng, TYPES), 0, 6)
    return (
        [np.trunc(x).astype(x.dtype)],
        {"cats_int64s": [int(n) for n in rng.permutation(7)[:4]], **zeros},
        1,
    )


@recipe("Scaler", domain=ML)
def scaler(rng, _):
    x = table(rng, (np.float32, np.float64))  # the evaluator's results for integers are integers
    count = pick(rng, (1, x.shape[1]))
    return [x], {"scale": reals(rng, count), "offset": reals(rng, count)}, 1


@recipe("SVMRegressor", domain=ML)
def svm_regressor(rng, _):
    x = table(rng, (np.float32,))
    kernel = pick(rng, ("LINEAR", "POLY", "RBF", "SIGMOID"))
    supports = between(rng, 1, 4)
    attributes = {
        "kernel_type": kernel,
        "n_supports": supports,
        "coefficients": reals(rng, supports),
        "support_vectors": reals(rng, supports * x.shape[1]),
        "rho": reals(rng, 1),
        "kernel_params": [real(rng, 0.1, 0.5), real(rng, 0, 1), float(between(rng, 1, 3))],
    }
    if rng.random() < 0.2:
        attributes["one_class"] = 1
    if kernel == "LINEAR" and flip(rng):
        attributes.pop("support_vectors")
        attributes.update(n_supports=0, coefficients=reals(rng, x.shape[1]))
    return [x], attributes, 1

@recipe("SVMClassifier", domain=ML)
def svm_classifier(rng, _):
    x = table(rng, (np.float32,))
    kernel = pick(rng, ("LINEAR", "POLY", "RBF", "SIGMOID"))
    classes = between(rng, 2, 4)
    vectors = [between(rng, 1, 3) for _ in range(classes)]
    total = sum(vectors)
    labels = {"classlabels_ints": [int(n) for n in rng.permutation(9)[:classes]]}
    if flip(rng):
        labels = {"classlabels_strings": ["no", "yes", "maybe", "never"][:classes]}
    attributes = {
        "kernel_type": kernel,
        "kernel_params": [real(rng, 0.1, 0.5), real(rng, 0, 1), float(between(rng, 1, 3))],
        "vectors_per_class": vectors,
        "coefficients": reals(rng, (classes - 1) * total),
        "support_vectors": reals(rng, total * x.shape[1]),
        "rho": reals(rng, classes * (classes - 1) // 2),
        **labels,
    }
    return Case([x], attributes, 2, opset=1, oracle="onnxruntime")


# --- Optimizers


@recipe("Adagrad", "Adam", "Momentum", domain=TRAINING)
def optimizer(rng, name):
    dtype = pick(rng, (np.float32, np.float32, np.float64))
    count = between(rng, 1, 2)
    sizes = [shape(rng) for _ in range(count)]
    states = {"Adagrad": 1, "Adam": 2, "Momentum": 1}[name]

    def tensors(low=-2):
        return [array(rng, s, dtype, low, 2) for s in sizes]

    # Sums of squares are positive.
    kept = {"Adagrad": [tensors(0.1)], "Adam": [tensors(), tensors(0.1)], "Momentum": [tensors()]}[
        name
    ]
    operands = [np.array(real(rng, 0.01, 0.5), np.float32), np.array(between(rng, 0, 5), np.int64)]
    operands += tensors() + tensors() + [t for group in kept for t in group]
    attributes = given(norm_coefficient=maybe(rng, real(rng, 0, 0.1)))
    if name == "Adagrad":
        attributes.update(
            given(decay_factor=maybe(rng, real(rng, 0, 0.2)), epsilon=maybe(rng, 1e-3))
        )
    if name == "Adam":
        attributes.update(
            given(
                alpha=maybe(rng, real(rng, 0.5, 0.95)),
                beta=maybe(rng, real(rng, 0.5, 0.99)),
                norm_coefficient_post=maybe(rng, real(rng, 0, 0.1)),
                epsilon=maybe(rng, 1e-3),
            )
        )
    if name == "Momentum":
        attributes = {
            "norm_coefficient": real(rng, 0, 0.1),
            "alpha": real(rng, 0.5, 1),
            "beta": real(rng, 0.5, 1),
            "mode": pick(rng, ("standard", "nesterov")),
        }
    return operands, attributes, count * (1 + states)
