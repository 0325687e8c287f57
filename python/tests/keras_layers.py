# SPDX-License-Identifier: Apache-2.0
"""One small model for every layer of keras.layers: `measured` fits, evaluates and predicts with a dtype policy, from
backend-independent weights and data. keras_layers.json has the results of torch in float64:
KERAS_BACKEND=torch python keras_layers.py keras_layers.json"""

import functools
import inspect
import json
import sys

import keras
import numpy as np
from keras import layers

ROWS = 4
STEPS = 2
IDS = 7  # integer inputs are below it
POLICIES = ("float32", "mixed_bfloat16", "mixed_float16", "bfloat16", "float16", "float64")

_ROW, _PICTURE, _VIDEO, _SEQUENCE = (6,), (6, 5, 2), (4, 5, 4, 2), (5, 4)
_FRAMES = {1: (3, 6, 2), 2: (3, 5, 4, 2), 3: (3, 4, 4, 3, 1)}
_LINE = (9, 3)
_SPACES = {1: _LINE, 2: _PICTURE, 3: _VIDEO}


def _named(name, *shapes, **options):
    return (name, functools.partial(getattr(layers, name), **options), shapes)


def _of_spaces(pattern, *dims, shapes=_SPACES, **options):
    return [_named(pattern.format(d), shapes[d], **{k: v(d) if callable(v) else v for k, v in options.items()})
            for d in dims]


# Layers for pictures in [0, 1): most are random in training and do nothing otherwise.
_AUGMENTING = {
    **dict.fromkeys(("RandomFlip", "RandomGaussianBlur", "RandomGrayscale", "RandomInvert", "RandomPerspective",
                     "RandomErasing", "Equalization", "Solarization", "RandAugment", "AugMix", "AutoContrast",
                     "ContrastLimitedAdaptiveHistogramEqualization"), {}),
    **dict.fromkeys(("RandomBrightness", "RandomContrast", "RandomRotation", "RandomHue", "RandomSaturation",
                     "RandomSharpness", "RandomColorDegeneration"), {"factor": 0.3}),
    "RandomTranslation": {"height_factor": 0.2, "width_factor": 0.2}, "RandomZoom": {"height_factor": 0.2},
    "RandomShear": {"x_factor": 0.2}, "RandomPosterization": {"factor": 4}, "RandomColorJitter": {"hue_factor": 0.2},
}

# A name, a function that makes the layer, and the shapes of its inputs without the batch.
TABLE = [
    _named("Activation", _ROW, activation="gelu"), _named("ELU", _ROW), _named("LeakyReLU", _ROW), _named("PReLU", _ROW),
    _named("ReLU", _ROW, max_value=1.0, negative_slope=0.1), _named("Softmax", _ROW), _named("Identity", _ROW),
    _named("Attention", _SEQUENCE, _SEQUENCE, use_scale=True), _named("AdditiveAttention", _SEQUENCE, _SEQUENCE),
    ("MultiHeadAttention", lambda: _Pair(layers.MultiHeadAttention(2, 3)), (_SEQUENCE, (3, 4))),
    ("GroupQueryAttention", lambda: _Pair(layers.GroupQueryAttention(3, 4, 2)), (_SEQUENCE, (3, 4))),
    *_of_spaces("Conv{}D", 1, 2, 3, filters=3, kernel_size=3, padding="same"),
    *_of_spaces("Conv{}DTranspose", 1, 2, 3, filters=2, kernel_size=3, strides=2),
    *_of_spaces("DepthwiseConv{}D", 1, 2, kernel_size=2, depth_multiplier=2),
    *_of_spaces("SeparableConv{}D", 1, 2, filters=3, kernel_size=2),
    _named("Dense", _ROW, units=5, activation="tanh"),
    _named("EinsumDense", _SEQUENCE, equation="abc,cd->abd", output_shape=(5, 3), bias_axes="d"),
    _named("Embedding", ("ids", 5), input_dim=IDS, output_dim=3),
    _named("ReversibleEmbedding", ("ids", 5), input_dim=IDS, output_dim=3),
    ("Lambda", lambda: layers.Lambda(lambda x: x * x + 1.0), (_ROW,)),
    _named("Masking", _SEQUENCE),
    *[_named(name, _ROW, _ROW) for name in ("Add", "Average", "Concatenate", "Maximum", "Minimum", "Multiply",
                                             "Subtract")],
    _named("Dot", _SEQUENCE, (5, 3), axes=1),
    _named("BatchNormalization", _PICTURE), _named("GroupNormalization", (5, 4, 6), groups=3),
    _named("LayerNormalization", _SEQUENCE), _named("RMSNormalization", _SEQUENCE),
    ("SpectralNormalization", lambda: layers.SpectralNormalization(layers.Dense(4)), (_ROW,)),
    _named("UnitNormalization", _SEQUENCE),
    *_of_spaces("AdaptiveAveragePooling{}D", 1, 2, 3, output_size=lambda d: (2, 3, 2)[:d] if d > 1 else 2),
    *_of_spaces("AdaptiveMaxPooling{}D", 1, 2, 3, output_size=lambda d: (2, 3, 2)[:d] if d > 1 else 2),
    *_of_spaces("AveragePooling{}D", 1, 2, 3, pool_size=2, padding="same"), *_of_spaces("MaxPooling{}D", 1, 2, 3),
    *_of_spaces("GlobalAveragePooling{}D", 1, 2, 3), *_of_spaces("GlobalMaxPooling{}D", 1, 2, 3),
    _named("CenterCrop", _PICTURE, height=3, width=4), _named("Resizing", _PICTURE, height=4, width=7),
    _named("Rescaling", _ROW, scale=0.5, offset=0.25), _named("CategoryEncoding", ("ids", 5), num_tokens=IDS),
    _named("Normalization", _ROW, mean=0.5, variance=2.0),
    _named("MelSpectrogram", (600,), fft_length=64, sequence_stride=32, num_mel_bins=8, min_freq=0.0, max_freq=8000.0),
    _named("STFTSpectrogram", (40, 1), frame_length=16, frame_step=8, fft_length=16, window=None),
    # Random in training only.
    *[_named(name, _SEQUENCE, rate=0.4, seed=3) for name in ("Dropout", "AlphaDropout", "GaussianDropout",
                                                             "SpatialDropout1D")],
    _named("GaussianNoise", _SEQUENCE, stddev=0.1, seed=3), _named("SpatialDropout2D", _PICTURE, rate=0.4, seed=3),
    _named("SpatialDropout3D", _VIDEO, rate=0.4, seed=3), _named("ActivityRegularization", _ROW, l1=0.01, l2=0.02),
    *[_named(name, ("picture", 6, 5, 3), **options) for name, options in _AUGMENTING.items()],
    *_of_spaces("Cropping{}D", 1, 2, 3, cropping=1), *_of_spaces("UpSampling{}D", 1, 2, 3),
    *_of_spaces("ZeroPadding{}D", 1, 2, 3), _named("Flatten", _PICTURE), _named("Permute", _PICTURE, dims=(3, 1, 2)),
    _named("RepeatVector", _ROW, n=3), _named("Reshape", _ROW, target_shape=(3, 2)),
    ("Bidirectional", lambda: layers.Bidirectional(layers.LSTM(3)), (_SEQUENCE,)),
    *_of_spaces("ConvLSTM{}D", 1, 2, 3, shapes=_FRAMES, filters=2, kernel_size=2),
    *[_named(name, _SEQUENCE, units=3) for name in ("GRU", "LSTM", "SimpleRNN")],
    *[(f"{name}Cell", functools.partial(lambda make: layers.RNN(make(3)), getattr(layers, f"{name}Cell")), (_SEQUENCE,))
      for name in ("GRU", "LSTM", "SimpleRNN")],
    ("StackedRNNCells", lambda: layers.RNN(layers.StackedRNNCells([layers.GRUCell(3), layers.LSTMCell(2)])), (_SEQUENCE,)),
    ("RNN", lambda: layers.RNN([layers.SimpleRNNCell(3)], return_sequences=True, go_backwards=True), (_SEQUENCE,)),
    ("TimeDistributed", lambda: layers.TimeDistributed(layers.Dense(3)), (_SEQUENCE,)),
    ("long LSTM", lambda: layers.LSTM(3), ((20, 4),)), ("long GRU", lambda: layers.GRU(3), ((20, 4),)),
]

# Layers without a row, with the reason.
LEFT_OUT = {
    **dict.fromkeys(("Layer", "InputLayer", "InputSpec", "Wrapper", "Pipeline"), "compute nothing themselves"),
    **dict.fromkeys(("TFSMLayer", "FlaxLayer", "JaxLayer", "TorchModuleWrapper"), "wrap other frameworks"),
    **dict.fromkeys(("StringLookup", "IntegerLookup", "TextVectorization", "Hashing", "HashedCrossing", "Discretization"),
                    "prepare data with tf.data"),
    **dict.fromkeys(("CutMix", "MixUp", "MaxNumBoundingBoxes"), "prepare images with their labels or boxes"),
    **dict.fromkeys(("RandomCrop", "RandomElasticTransform"), "need sizes or values that a step computes"),
}

# Layers whose training differs between backends: random numbers, or a weight that the layer itself assigns, whose
# derivative is by the old value here and with JAX, and by the new one with torch.
OWN_TRAINING = {"SpectralNormalization", "Dropout", "AlphaDropout", "GaussianDropout", "GaussianNoise", "SpatialDropout1D",
                "SpatialDropout2D", "SpatialDropout3D", *_AUGMENTING}


def without_row():
    """Returns the names of layers that have neither a row nor a reason. Aliases have the row of their class."""
    made = {getattr(layers, name) for name, _, _ in TABLE if hasattr(layers, name)}
    return [name for name, kind in vars(layers).items()
            if inspect.isclass(kind) and kind not in made and name not in LEFT_OUT]


class _Pair(layers.Layer):
    """A layer of two arguments as a layer of a list."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def build(self, shapes):
        self.layer.build(*shapes)
        self.built = True

    def call(self, inputs):
        return self.layer(*inputs)


def _data(random, shape):
    if shape[0] == "ids":
        return random.integers(0, IDS, (ROWS, *shape[1:])).astype("int32")
    if shape[0] == "picture":
        return random.random((ROWS, *shape[1:]))
    return random.standard_normal((ROWS, *shape))


def _weights(model, random):
    for weight in model.weights:
        is_vector = weight.name == "vector_u"
        if not (weight.trainable or is_vector) or weight.path.startswith("seed"):
            continue
        values = random.standard_normal(weight.shape) / max(1.0, np.sqrt(np.prod(weight.shape[:-1])))
        weight.assign(np.asarray(0.5 * values, "float64").astype("float32"))


def measured(name, policy):
    """Returns the losses of epochs of one batch, the loss that `evaluate` finds, the predictions, and their dtype."""
    make, shapes = next(row[1:] for row in TABLE if row[0] == name)
    random = np.random.default_rng(sum(map(ord, name)))
    keras.config.set_dtype_policy(policy)
    if policy == "float64":  # data and losses, too
        keras.config.set_floatx("float64")
    try:
        inputs = [keras.Input(s[1:] if isinstance(s[0], str) else s, dtype="int32" if s[0] == "ids" else None) for s in shapes]
        y = make()(inputs if len(inputs) > 1 else inputs[0])
        model = keras.Model(inputs, layers.Dense(2)(layers.Flatten()(y)))
        optimizer = keras.optimizers.SGD(0.1)
        if policy == "mixed_float16":  # a scale without overflow, whose steps are skipped
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=64.0)
        model.compile(optimizer, "mse")
        return _run(name, model, random, [_data(random, shape) for shape in shapes])
    finally:
        keras.config.set_dtype_policy("float32")
        keras.config.set_floatx("float32")


def _run(name, model, random, x):
    _weights(model, random)
    x = x if len(x) > 1 else x[0]
    y = random.standard_normal((ROWS, 2))
    losses = model.fit(x, y, batch_size=ROWS, epochs=STEPS, shuffle=False, verbose=0).history["loss"]
    if name in OWN_TRAINING:
        losses = [bool(np.isfinite(loss)) for loss in losses]
        _weights(model, np.random.default_rng(3))
    found = model.predict(x, batch_size=ROWS, verbose=0)
    evaluated = model.evaluate(x, y, batch_size=ROWS, verbose=0)
    return {"losses": losses, "evaluated": evaluated, "predicted": found.astype("float64").tolist(),
            "dtype": str(found.dtype)}


if __name__ == "__main__":
    from keras.src.backend.common import dtypes

    dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"  # matmuls, too, which Keras computes in float32
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        lines = {}
        for name, *_ in TABLE:
            lines[name] = measured(name, "float64")
        file.write("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(line)}" for name, line in lines.items()) + "\n}\n")
