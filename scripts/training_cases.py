#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes models of single nodes of training graphs with the results of onnxruntime-training.

    pip install onnx numpy onnxruntime-training
    scripts/training_cases.py FOLDER [BEGINNING OF A NAME…]
    build/tests/onnx_node_cases FOLDER
    scripts/compare_graphs.py FOLDER --pack tests/frontend/onnx/training_cases.bin --share 300

Sizes are odd. A case that onnxruntime does not run has the results of float64 formulas next to the
node; otherwise onnxruntime's results count.
"""

import copy
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(7)
OPSETS = [helper.make_opsetid("", 14), helper.make_opsetid("com.microsoft", 1)]
F = np.float32


def real(*dims, low=-2.0, high=2.0):
    return RNG.uniform(low, high, dims).astype(F)


def ints(low, high, *dims):
    return RNG.integers(low, high, dims).astype(np.int64)


def softmax(x, axes):
    e = np.exp(x - x.max(axes, keepdims=True))
    return e / e.sum(axes, keepdims=True)


def erf(x):
    import math

    return np.vectorize(math.erf)(x)


def gelu_grad(dy, x):
    x = x.astype(np.float64)
    return dy * (0.5 * (1 + erf(x / np.sqrt(2))) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi))


def fast_gelu_grad(dy, x):
    x = x.astype(np.float64)
    t = np.tanh(0.7978845608028654 * (x + 0.044715 * x**3))
    inner = 0.7978845608028654 * (1 + 3 * 0.044715 * x * x)
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner)


def layer_grad(dy, x, scale, axes, others, centered=True, epsilon=1e-5):
    """The gradients, and the statistics: mean and 1 / standard deviation."""
    x, dy, scale = (a.astype(np.float64) for a in (x, dy, scale))
    mean = x.mean(axes, keepdims=True) * centered
    inv = 1 / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)
    norm, g = (x - mean) * inv, dy * scale
    dx = g - norm * (g * norm).mean(axes, keepdims=True)
    if centered:
        dx = dx - g.mean(axes, keepdims=True)
    grads = [inv * dx, (dy * norm).sum(others), dy.sum(others)]
    return grads, mean.astype(F), inv.astype(F), norm * scale


def loss_grad(dy, log_prob, labels, weights, ignored, reduction):
    p = np.moveaxis(np.exp(log_prob.astype(np.float64)), 1, -1)
    hot = labels[..., None] == np.arange(p.shape[-1])
    w = np.ones(labels.shape) if weights is None else weights[np.clip(labels, 0, None)]
    w = np.where(labels == ignored, 0, w).astype(np.float64)
    if reduction == "mean":
        w = w / w.sum()
    return np.moveaxis((p - hot) * (w * dy)[..., None], -1, 1)


CASES = []


def case(name, op, inputs, attributes, formula=None, outputs=1, domain="com.microsoft"):
    CASES.append((name, op, inputs, attributes, formula, outputs, domain))


def activations():
    for dims in ((7,), (3, 5), (2, 3, 5, 3)):
        dy, x = real(*dims), real(*dims)
        n = len(dims)
        sig = 1 / (1 + np.exp(-1.702 * x.astype(np.float64)))
        case(f"relu_{n}", "ReluGrad", [dy, x], {}, [dy * (x > 0)])
        case(f"gelu_{n}", "GeluGrad", [dy, x], {}, [gelu_grad(dy, x)])
        case(f"fast_gelu_{n}", "FastGeluGrad", [dy, x], {}, [fast_gelu_grad(dy, x)])
        case(
            f"quick_gelu_{n}",
            "QuickGeluGrad",
            [dy, x],
            {"alpha": 1.702},
            [dy * sig * (1 + 1.702 * x * (1 - sig))],
        )
        case(f"sigmoid_{n}", "SigmoidGrad", [dy, x], {}, [dy * x * (1 - x)])
        case(f"tanh_{n}", "TanhGrad", [dy, x], {}, [dy * (1 - x * x)])
        case(f"leaky_{n}", "LeakyReluGrad", [dy, x], {"alpha": 0.3}, [dy * np.where(x > 0, 1, 0.3)])
        case(f"elu_{n}", "EluGrad", [dy, x], {"alpha": 0.3}, [dy * np.where(x > 0, 1, x + 0.3)])
    dy, x, b = real(3, 5), real(3, 5), real(5)
    case("bias_gelu", "BiasGeluGrad_dX", [dy, x, b], {}, [gelu_grad(dy, x + b)])
    case("bias_fast_gelu", "BiasFastGeluGrad_dX", [dy, x, b], {}, [fast_gelu_grad(dy, x + b)])
    half = np.float16
    case("half_gelu", "GeluGrad", [dy.astype(half), x.astype(half)], {},
         [gelu_grad(dy.astype(half), x.astype(half))])


def softmaxes():
    for axis in (0, 1, 2, -1):
        dy, x = real(3, 5, 7), real(3, 5, 7)
        for suffix, axes in (("_13", axis), ("", tuple(range(axis % 3, 3)))):
            y = softmax(x.astype(np.float64), axes)
            ly = np.log(y)
            total = (dy * y).sum(axes, keepdims=True)
            case(f"softmax{suffix}_{axis}", "SoftmaxGrad" + suffix, [dy, y.astype(F)],
                 {"axis": axis}, [y * (dy - total)])
            case(f"log_softmax{suffix}_{axis}", "LogSoftmaxGrad" + suffix, [dy, ly.astype(F)],
                 {"axis": axis}, [dy - y * dy.sum(axes, keepdims=True)])


def losses():
    for dims in ((5, 3), (3, 5, 7), (2, 3, 5, 3)):
        rest = (dims[0],) + dims[2:]
        log_prob = np.log(softmax(real(*dims), 1))
        labels = ints(0, dims[1], *rest)
        holes = np.where(RNG.random(rest) < 0.3, -1, labels)
        weights = real(dims[1], low=0.5, high=2)
        for reduction in ("none", "sum", "mean"):
            dy = real(*(rest if reduction == "none" else ()))
            for w in (None, weights):
                for t, ignored in ((labels, None), (holes, -1)):
                    name = f"loss_{len(dims)}_{reduction}_{w is not None}_{ignored is not None}"
                    operands = [dy, log_prob, t] + ([w] if w is not None else [])
                    given = {"reduction": reduction}
                    expected = [loss_grad(dy, log_prob, t, w, ignored, reduction)]
                    more = {} if ignored is None else {"ignore_index": ignored}
                    case(name, "SoftmaxCrossEntropyLossGrad", operands, {**given, **more}, expected,
                         domain="")
                    internal = [dy, log_prob, t, w]
                    if ignored is not None:
                        internal.append(np.array(ignored, np.int64))
                    case("internal_" + name, "SoftmaxCrossEntropyLossInternalGrad", internal, given,
                         expected)
        case(f"internal_{len(dims)}", "SoftmaxCrossEntropyLossInternal",
             [real(*dims), holes, weights, np.array(-1, np.int64)], {"reduction": "mean"},
             None, 2)
    x, t = real(3, 5, 7), ints(0, 7, 3, 5)
    log_prob = np.log(softmax(real(3, 5, 7), 2))
    for reduction in ("sum", "mean"):
        case(f"sparse_{reduction}", "SparseSoftmaxCrossEntropy", [x, t],
             {"reduction": reduction}, None, 2, "")
        case(f"sparse_grad_{reduction}", "SparseSoftmaxCrossEntropyGrad",
             [real(), log_prob, t], {"reduction": reduction}, None, 1, "")


def normalizations():
    for axis in (1, 2, -1):
        dims = (3, 5, 7)
        dy, x = real(*dims), real(*dims)
        at = axis % 3
        axes, others = tuple(range(at, 3)), tuple(range(at))
        scale = real(*dims[at:], low=0.5)
        bias = real(*dims[at:])
        grads, mean, inv, scaled = layer_grad(dy, x, scale, axes, others)
        case(f"layer_{axis}", "LayerNormalizationGrad", [dy, x, scale, mean, inv], {"axis": axis},
             grads, 3)
        case(f"layer_bias_{axis}", "LayerNormalizationGrad", [dy, x, scale, bias],
             {"axis": axis, "epsilon": 1e-5}, grads[:1], 1)
        case(f"invertible_{axis}", "InvertibleLayerNormalizationGrad",
             [dy, (scaled + bias).astype(F), scale, bias, inv], {"axis": axis}, grads, 3)
        grads, _, inv, _ = layer_grad(dy, x, scale, axes, others, centered=False)
        case(f"simplified_{axis}", "SimplifiedLayerNormalizationGrad", [dy, x, scale, inv],
             {"axis": axis}, grads[:2], 2)
    for dims in ((5, 3), (3, 5, 7), (2, 3, 5, 3)):
        dy, x, scale = real(*dims), real(*dims), real(dims[1], low=0.5)
        axes = (0,) + tuple(range(2, len(dims)))
        wide = scale.reshape(-1, *[1] * (len(dims) - 2))
        grads, mean, inv, _ = layer_grad(dy, x, wide, axes, axes)
        case(f"batch_{len(dims)}", "BatchNormalizationGrad",
             [dy, x, scale, mean.ravel(), inv.ravel()], {"epsilon": 1e-5}, grads, 3)


def layers():
    x, w = real(2, 4, 7, 5), real(6, 2, 3, 3)
    attributes = {"kernel_shape": [3, 3], "strides": [2, 1], "pads": [1, 0, 1, 1], "group": 2,
                  "dilations": [1, 1]}
    case("conv_2d", "ConvGrad", [real(2, 6, 4, 4), x, w], attributes, None, 3)
    case("conv_1d", "ConvGrad", [real(2, 5, 5), real(2, 3, 7), real(5, 3, 3)],
         {"kernel_shape": [3]}, None, 3)
    places = np.stack([RNG.permutation(7 * 5)[:6].reshape(3, 2) for _ in range(6)])
    places = places.reshape(2, 3, 3, 2) + 35 * np.arange(6).reshape(2, 3, 1, 1)
    dy = real(2, 3, 3, 2)
    dx = np.zeros(210)
    np.add.at(dx, places.ravel(), dy.ravel())
    case("max_pool", "MaxPoolGrad", [dy, places], {"kernel_shape": [2, 2], "strides": [2, 2]},
         [dx.reshape(2, 3, 7, 5)], 1, "")
    dx = np.zeros((2, 3, 7, 5))
    for y in range(3):
        for z in range(2):
            dx[:, :, 2 * y : 2 * y + 2, 2 * z : 2 * z + 2] += dy[:, :, y : y + 1, z : z + 1] / 4
    case("average_pool", "AveragePoolGrad", [dy], {"kernel_shape": [2, 2], "strides": [2, 2]},
         [dx], 1, "")


def indices():
    sizes, places = np.array([5, 3, 7], np.int64), ints(-5, 5, 2, 4)
    case("gather_0", "GatherGrad", [sizes, places, real(2, 4, 3, 7)], {"axis": 0}, None)
    case("gather_1", "GatherGrad", [sizes, ints(0, 3, 5), real(5, 5, 7)], {"axis": 1}, None)
    case("gather_elements", "GatherElementsGrad", [real(5, 4, 7), sizes, ints(0, 3, 5, 4, 7)],
         {"axis": 1}, None)
    case("gather_nd", "GatherNDGrad", [sizes, ints(0, 3, 4, 2), real(4, 7)], {"batch_dims": 0},
         None)
    case("gather_nd_batch", "GatherNDGrad", [sizes, ints(0, 3, 5, 2, 1), real(5, 2, 7)],
         {"batch_dims": 1}, None)
    dy, dx = real(2, 3, 3), np.zeros((5, 3, 7))
    dx[1:5:2, :, 6:0:-2] = dy
    case("slice", "SliceGrad",
         [dy, sizes, np.array([1, 6]), np.array([5, 0]), np.array([0, 2]),
          np.array([2, -2])], {}, [dx])


def updates():
    w, g = real(3, 5), real(3, 5)
    rate = np.array(0.1, F)
    yes, no = np.array([True]), np.array([False])
    case("sgd", "SGDOptimizer", [rate, w, g], {}, None, 2)
    case("deeploy_sgd", "SGD", [w, g], {"lr": 0.25}, [w - 0.25 * g], 1, "")
    case("accumulate", "InPlaceAccumulator", [w, g], {}, None)
    for flag in (yes, no):
        case(f"accumulate_{flag[0]}", "InPlaceAccumulator", [w, g, flag], {}, None)
        case(f"accumulate_v2_{flag[0]}", "InPlaceAccumulatorV2", [w, g, flag], {}, None, 2)
        for mode in (0, 1):
            lists = [[real(3, 5), real(7)] for _ in range(3)]
            lists.append([real(3, 5, low=0, high=1), real(7, low=0, high=1)])
            case(f"adamw_{mode}_{flag[0]}", "AdamWOptimizer",
                 [rate, np.array(3, np.int64), *lists, flag],
                 {"adam_mode": mode, "weight_decay": 0.03}, None, -4)
        case(f"sgd_v2_{flag[0]}", "SGDOptimizerV2",
             [rate, [real(3, 5), real(7)], [real(3, 5), real(7)], flag], {}, None, -2)
    case("zero", "ZeroGradient", [w, np.array([1], F)], {}, None)
    case("scale", "Scale", [w, np.array(3, F)], {}, [w * 3])
    case("scale_down", "Scale", [w, np.array(3, F)], {"scale_down": 1}, [w / np.float64(3)])
    norms = [w, real(7), real(2, 3, 1)]
    case("all_l2", "ReduceAllL2", norms, {}, [np.sqrt(sum(float((t * t).sum()) for t in norms))])



def forms():
    x = real(3, 5, 7)
    case("sum_training", "ReduceSumTraining", [x, np.array([0, 2])], {"keepdims": 0}, [x.sum((0, 2))])
    case("sum_training_none", "ReduceSumTraining", [x, np.zeros(0, np.int64)],
         {"noop_with_empty_axes": 1}, [x])
    case("split_training", "SplitTraining", [x, np.array([2, 3])], {"axis": 1},
         [x[:, :2], x[:, 2:]], 2)
    case("concat_training", "ConcatTraining", [x[:, :2], x[:, 2:]], {"axis": 1}, None, 2)
    mask = RNG.random((3, 5, 7)) < 0.7
    case("dropout", "DropoutGrad", [x, mask, np.array(0.3, F), np.array(True)], {},
         [x * mask / np.float64(0.7)])
    odd = x.copy()
    odd[1, 2, 3], odd[0, 0, 0] = np.inf, -np.inf
    nan = x.copy()
    nan[2, 4, 6] = np.nan
    for suffix, more in (("", {}), ("_inf", {"isinf_only": 1}), ("_nan", {"isnan_only": 1})):
        for value, word in ((x, "numbers"), (odd, "infinite"), (nan, "nan")):
            wrong = np.isinf(value) * (suffix != "_nan") + np.isnan(value) * (suffix != "_inf")
            case(f"all_finite{suffix}_{word}", "IsAllFinite", [real(5), value], more,
                 [np.array(not wrong.any())])
            case(f"finite{suffix}_{word}", "IsFinite", [value], more, [~wrong])


def packed(mask):
    """One bit per element, from the lowest bit of the first word on."""
    bits = np.zeros(-(-mask.size // 32) * 32, np.uint32)
    bits[: mask.size] = mask.ravel()
    return (bits.reshape(-1, 32) << np.arange(32, dtype=np.uint32)).sum(1).astype(np.uint32)


def dropouts():
    """Cases of dropout whose results do not depend on the random numbers."""
    for dims in ((7,), (3, 5, 7), (4, 16)):
        x, bias, residual = real(*dims), real(dims[-1]), real(*dims)
        mask = RNG.random(dims) < 0.7
        all_kept, off = np.ones(dims, bool), np.array(False)
        n = len(dims)
        case(f"bits_grad_{n}", "BitmaskDropoutGrad",
             [x, packed(mask), np.array(0.3, F), np.array(True)], {}, [x * mask / np.float64(0.7)])
        case(f"bits_{n}", "BitmaskDropout", [x, np.array(0.3, F), off], {}, [x, packed(all_kept)], 2)
        case(f"bits_none_{n}", "BitmaskDropout", [x, np.array(0, F), np.array(True)], {},
             [x, packed(all_kept)], 2)
        for more in (None, residual):
            whole = x + bias + (0 if more is None else more)
            for name, m in (("BiasDropout", all_kept), ("BitmaskBiasDropout", packed(all_kept))):
                case(f"{name}_{n}_{more is not None}", name,
                     [x, bias, more, np.array(0.3, F), off], {}, [whole, m], 2)


def batch_norms():
    for dims in ((5, 3), (3, 5, 7), (2, 3, 5, 3)):
        x, scale, bias = real(*dims), real(dims[1], low=0.5), real(dims[1])
        mean, variance = real(dims[1]), real(dims[1], low=0.5)
        axes = (0,) + tuple(range(2, len(dims)))
        wide = (1, -1) + (1,) * (len(dims) - 2)
        x64 = x.astype(np.float64)
        m, v = x64.mean(axes), x64.var(axes)
        inv = 1 / np.sqrt(v + 1e-3)
        y = (x64 - m.reshape(wide)) * (inv * scale).reshape(wide) + bias.reshape(wide)
        case(f"internal_norm_{len(dims)}", "BatchNormInternal", [x, scale, bias, mean, variance],
             {"epsilon": 1e-3, "momentum": 0.8},
             [y, 0.8 * mean + 0.2 * m, 0.8 * variance + 0.2 * v, m, inv], 5)


def averaged(g, m, v, alpha, beta, count, scale, norm, clip, corrects):
    """Averages and their corrections; gradients are divided by the scale, or clipped."""
    g = g.astype(np.float64) / (norm / clip if norm > scale * clip else scale)
    m, v = alpha * m + (1 - alpha) * g, beta * v + (1 - beta) * g * g
    return m, v, 1 - alpha**count if corrects else 1, 1 - beta**count if corrects else 1


def optimizers():
    rate, count = np.array(0.1, F), np.array(3, np.int64)
    alpha, beta = 0.8, 0.95
    for dims in ((7,), (3, 5)):
        w, g, m = real(*dims), real(*dims), real(*dims)
        v = real(*dims, low=0.1)
        for mode in (0, 1):
            for scale, norm, flag in ((1, 0, None), (8, 0, True), (8, 30, True), (1, 0, False)):
                for corrects in (0, 1):
                    attributes = {"alpha": alpha, "beta": beta, "lambda": 0.03, "epsilon": 1e-3,
                                  "max_norm_clip": 2.0, "do_bias_correction": corrects,
                                  "weight_decay_mode": mode}
                    nm, nv, cm, cv = averaged(g, m, v, alpha, beta, 3, scale, norm, 2.0, corrects)
                    if mode == 0:
                        new = w - 0.1 * (nm / cm / (np.sqrt(nv / cv) + 1e-3) + 0.03 * w)
                    else:
                        new = w - 0.1 * np.sqrt(cv) / cm * nm / (np.sqrt(nv) + 1e-3)
                        new = new - 0.1 * 0.03 * new
                    results = [np.array(4), nm, nv, new, new - w]
                    if flag is False:
                        results = [count, m, v, w, 0 * w]
                    extra = [] if flag is None else [None, np.array(scale, F), np.array(norm, F),
                                                     np.array(flag)]
                    case(f"adam_{len(dims)}_{mode}_{scale}_{norm}_{flag}_{corrects}",
                         "AdamOptimizer", [rate, count, w, g, m, v, *extra], attributes, results, 5)
    for scale, norm, flag in ((1, 0, True), (8, 30, True), (1, 0, False)):
        inputs, results = [np.array(flag), np.array(scale, F), np.array(norm, F), rate, count], []
        for dims, a, lam in (((7,), 0.8, 0.03), ((3, 5), 0.7, 0.0)):
            w, g, m = real(*dims), real(*dims), real(*dims)
            v = real(*dims, low=0.1)
            nm, nv, cm, cv = averaged(g, m, v, a, beta, 3, scale, norm, 1.0, 1)
            u = nm / cm / (np.sqrt(nv / cv) + 1e-3) + lam * w
            ratio = np.clip(np.sqrt((w * w).sum()) / np.sqrt((u * u).sum()), 0.5, 1.5)
            inputs += [w, g, m, v]
            step = -0.1 * ratio * u
            results += [w + step, step, nm, nv] if flag else [w, 0 * w, m, v]
            inputs.append(None)
            results.append(None)
        # Optional results of 16 bits, which these cases lack, are left out.
        case(f"lamb_{scale}_{norm}_{flag}", "LambOptimizer", inputs[:-1],
             {"alpha": [0.8, 0.7], "beta": [beta, beta], "lambda": [0.03, 0.0],
              "epsilon": [1e-3, 1e-3], "ratio_min": 0.5, "ratio_max": 1.5},
             [np.array(4 if flag else 3), *results[:-1]], 10)


def scales():
    x, y, s = real(3, 5), real(7), np.array(3, F)
    for to, kind in ((TensorProto.FLOAT, F), (TensorProto.FLOAT16, np.float16)):
        named = {"to": int(to)}
        case(f"mixed_{to}", "MixedPrecisionScale", [s, x, y], named,
             [(x * s).astype(kind), (y * s).astype(kind)], 2)
        case(f"mixed_fused_{to}", "MixedPrecisionScale", [s, x, y], {**named, "fuse_outputs": 1},
             [np.concatenate([(x * s).ravel(), y * s]).astype(kind)], 1)


def info(name, value):
    if isinstance(value, list):
        return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, kind, value.shape)


def results_of(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds)


def write(folder, name, op, inputs, attributes, formula, outputs, domain):
    named = {f"i{n}": value for n, value in enumerate(inputs) if value is not None}
    names = ["" if value is None else f"i{n}" for n, value in enumerate(inputs)]
    count = abs(outputs)
    results = [f"o{n}" for n in range(count)]
    if formula is not None:
        results = ["" if value is None else r for r, value in zip(results, formula)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    if formula is not None:
        kind = next(v for v in named.values() if v.dtype.kind == "f").dtype
        results = [r for r in results if r]
        formula = [np.asarray(v) for v in formula if v is not None]
        formula = [v.astype(kind) if v.dtype == np.float64 else v for v in formula]
        shapes = [info(r, v) for r, v in zip(results, formula)]
    else:
        shapes = [onnx.ValueInfoProto(name=r) for r in results]
    graph = helper.make_graph([node], name, [info(n, v) for n, v in named.items()], shapes)
    model = helper.make_model(graph, opset_imports=OPSETS, ir_version=8)
    try:
        # Copies, because onnxruntime updates operands in place.
        expected, source = results_of(model, copy.deepcopy(named)), "onnxruntime"
    except Exception as error:
        expected, source = formula, "formula"
        if formula is None:
            print(f"{name}: left out: {str(error)[:150]}")
            return
    if formula is not None and source == "onnxruntime":
        for a, b in zip(expected, formula):
            near = 2e-3 if a.dtype == np.float16 else 1e-4
            np.testing.assert_allclose(a, b, near, 1e-5, err_msg=name)
    del model.graph.output[:]
    model.graph.output.extend(info(r, v) for r, v in zip(results, expected))
    print(f"{name}: {source}")
    data = folder / name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / name / "model.onnx")
    for prefix, values in (("input", named.values()), ("output", expected)):
        for n, value in enumerate(values):
            make = numpy_helper.from_list if isinstance(value, list) else numpy_helper.from_array
            (data / f"{prefix}_{n}.pb").write_bytes(make(value).SerializeToString())


def main():
    folder = pathlib.Path(sys.argv[1])
    only = sys.argv[2:]  # beginnings of names
    for family in (activations, softmaxes, losses, normalizations, layers, indices, updates, forms,
                   dropouts, batch_norms, optimizers, scales):
        family()
    for entry in CASES:
        if not only or entry[0].startswith(tuple(only)):
            write(folder, *entry)


if __name__ == "__main__":
    main()
