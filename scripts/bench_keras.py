#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Keras on several backends in one run: the first step of a model without cached kernels,
steps of `fit` with AdamW, and `predict`. Stock Keras, its defaults.

    scripts/bench_keras.py --backend tartan=PYTHON --backend torch=PYTHON --backend jax=PYTHON … [--network NAME …]
        [--policy mixed_bfloat16] [--rounds N]

A backend `torch_compiled` is torch with jit_compile=True. The networks resnet50, vit and gpt (124 M
parameters) are for GPUs and must be named.
PYTHON is the interpreter of an environment with the backend. Each pair of backend and network
has its own process, and the backends alternate in each round. Prints
median milliseconds per backend, and the time of the fastest other backend divided by them."""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time

from keras_process import KerasProcess

STEPS = {"mlp": 64, "cnn": 24, "resnet": 8, "transformer": 8, "lstm": 24,
         "resnet50": 6, "vit": 6, "gpt": 6}  # timed steps of an epoch
WORDS = 50304  # vocabulary of the GPT
SMALL = ["mlp", "cnn", "resnet", "transformer", "lstm"]


def blocks(x, count, heads, width, **attention):
    """Blocks of a transformer, with normalisations first."""
    from keras import layers

    for _ in range(count):
        y = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(heads, 64)(y, y, **attention)])
        y = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(width)(y)])
    return x


def small_networks():
    """Builders of networks of 10 classes. Each returns a model and the shape of a batch."""
    import keras
    from keras import layers

    def mlp():
        return keras.Sequential([keras.Input((784,)), layers.Dense(512, activation="relu"),
                                 layers.Dense(512, activation="relu"), layers.Dense(10)]), (128, 784)

    def cnn():
        stack = [keras.Input((28, 28, 1))]
        for filters in (32, 64):
            stack += [layers.Conv2D(filters, 3, padding="same", use_bias=False), layers.BatchNormalization(),
                      layers.ReLU(), layers.MaxPooling2D()]
        stack += [layers.Flatten(), layers.Dense(128, activation="relu"), layers.Dropout(0.25), layers.Dense(10)]
        return keras.Sequential(stack), (64, 28, 28, 1)

    def normed(x, filters, size, strides=1):
        x = layers.Conv2D(filters, size, strides=strides, padding="same", use_bias=False)(x)
        return layers.BatchNormalization()(x)

    def resnet():
        inputs = keras.Input((64, 64, 3))
        x = layers.MaxPooling2D(3, strides=2, padding="same")(layers.ReLU()(normed(inputs, 64, 7, 2)))
        for filters in (64, 128, 256, 512):
            for block in range(2):
                strides = 2 if block == 0 and filters > 64 else 1
                short = x if strides == 1 else normed(x, filters, 1, strides)
                x = normed(layers.ReLU()(normed(x, filters, 3, strides)), filters, 3)
                x = layers.ReLU()(layers.Add()([x, short]))
        return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x))), (16, 64, 64, 3)

    def transformer():
        inputs = keras.Input((64, 256))
        x = blocks(inputs, 4, 4, 256)
        return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x))), (8, 64, 256)

    def lstm():
        return keras.Sequential([keras.Input((50, 128)), layers.LSTM(128), layers.Dense(10)]), (32, 50, 128)

    return {"mlp": mlp, "cnn": cnn, "resnet": resnet, "transformer": transformer, "lstm": lstm}


def large_networks():
    """The same for large networks. A batch of integers has as many targets."""
    import keras
    from keras import layers

    def resnet50():
        return keras.applications.ResNet50(weights=None, classes=10, classifier_activation=None), (64, 224, 224, 3)

    def vit():
        inputs = keras.Input((224, 224, 3))
        x = layers.Reshape((196, 768))(layers.Conv2D(768, 16, strides=16)(inputs))
        x = layers.LayerNormalization()(blocks(x, 12, 12, 768))
        return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x))), (32, 224, 224, 3)

    def gpt():
        inputs = keras.Input((256,), dtype="int32")
        positions = keras.ops.arange(256)
        x = layers.Embedding(WORDS, 768)(inputs) + layers.Embedding(256, 768)(positions)
        x = layers.LayerNormalization()(blocks(x, 12, 12, 768, use_causal_mask=True))
        return keras.Model(inputs, layers.Dense(WORDS, use_bias=False)(x)), (8, 256)

    return {"resnet50": resnet50, "vit": vit, "gpt": gpt}


def settle():
    """Waits for compilation in the background."""
    if os.environ["KERAS_BACKEND"] == "tartan":
        from tartan import _function

        for thread in list(_function._background):
            thread.join()


def serve(name, policy):
    """The process of a backend: builds the network, times the first step, then executes requests
    line by line."""
    if os.environ["KERAS_BACKEND"] == "tartan":
        import keras_tartan  # noqa: F401
    elif os.environ["KERAS_BACKEND"] == "tinygrad":
        import keras_tinygrad  # noqa: F401
    import keras
    import numpy as np

    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy(policy)
    random = np.random.default_rng(1)
    begin = time.perf_counter()
    model, shape = {**small_networks(), **large_networks()}[name]()
    model.compile(optimizer=keras.optimizers.AdamW(1e-3),
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"],
                  **({"jit_compile": True} if os.environ.get("BENCH_COMPILED") else {}))
    built = time.perf_counter()
    count = shape[0] * STEPS[name]
    if "int" in model.inputs[0].dtype:
        x = random.integers(0, WORDS, (count, *shape[1:])).astype("int32")
        y = random.integers(0, WORDS, x.shape).astype("int32")
    else:
        x = random.standard_normal((count, *shape[1:])).astype("float32")
        y = random.integers(0, 10, count).astype("int32")
    began = time.perf_counter()
    model.train_on_batch(x[:shape[0]], y[:shape[0]])
    first = time.perf_counter() - began
    began = time.perf_counter()
    model.predict(x[:shape[0]], batch_size=shape[0], verbose=0)
    print(json.dumps({"build": built - begin, "first": first, "predict": time.perf_counter() - began}), flush=True)
    work = {"fit": lambda: model.fit(x, y, batch_size=shape[0], shuffle=False, verbose=0),
            "predict": lambda: model.predict(x, batch_size=shape[0], verbose=0),
            "settle": lambda: settle()}
    for line in sys.stdin:
        began = time.perf_counter()
        work[line.strip()]()
        print((time.perf_counter() - began) / STEPS[name] * 1e3, flush=True)


class Server(KerasProcess):
    """A process that serves a network on a backend, with empty caches."""

    def __init__(self, backend, python, network, policy, scratch):
        compiled = {"BENCH_COMPILED": "1"} if backend.endswith("_compiled") else {}
        environment = dict(os.environ, **compiled, KERAS_BACKEND=backend.removesuffix("_compiled"), TARTAN_CACHE_DIR=scratch, POCL_CACHE_DIR=scratch,
                           CACHEDB=os.path.join(scratch, "tinygrad.db"), TF_CPP_MIN_LOG_LEVEL="3")
        super().__init__([python, __file__, "--serve", network, "--policy", policy], environment)
        self.times = {"fit": [], "predict": []}

    def measure(self, what, keep=True):
        time.sleep(0.3)  # the threads of the previous process must stop spinning
        took = self.request(what)
        if keep:
            self.times[what].append(took)

    def close(self):
        self.process.kill()
        self.process.wait()


def compare(network, backends, rounds, policy):
    """Rows of medians for a network, by backend. A backend that fails or takes too long for its
    first step is left out."""
    servers = {}
    for backend, python in backends.items():
        try:
            servers[backend] = Server(backend, python, network, policy, tempfile.mkdtemp(prefix="bench-keras-"))
            print(f"{network}: {backend}: {servers[backend].start}", file=sys.stderr)
        except RuntimeError as error:
            print(f"{network}: {backend}: {error}", file=sys.stderr)

    def measure(what, keep):
        for backend, server in list(servers.items()):
            try:
                began = time.perf_counter()
                server.measure(what, keep)
                if not keep:
                    print(f"{network}: {backend}: {what}, {time.perf_counter() - began:.1f} s", file=sys.stderr)
            except (RuntimeError, BrokenPipeError) as error:
                print(f"{network}: {backend}: {what}: {error}", file=sys.stderr)
                servers.pop(backend).close()

    for what in ("fit", "predict"):
        for step in [what] * 3 + ["settle", what]:  # starts the compilation of exact kernels
            measure(step, keep=False)
        for _ in range(rounds):
            measure(what, keep=True)
    rows = {}
    for backend, server in servers.items():
        rows[backend] = {"build_s": server.start["build"], "first_step_s": server.start["first"],
                         "first_predict_s": server.start["predict"],
                         **{f"{what}_ms": statistics.median(times) for what, times in server.times.items()}}
        server.close()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--network", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--policy", default="float32")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.policy)
        return
    backends = dict(backend.split("=", 1) for backend in options.backend)
    for network in options.network or SMALL:
        rows = compare(network, backends, options.rounds, options.policy)
        for backend, row in rows.items():
            others = [other for name, other in rows.items() if name != backend]
            ratios = {what: min(o[what] for o in others) / row[what] for what in ("fit_ms", "predict_ms")} if others else {}
            print(f"{network:12} {backend:12} " + "  ".join(f"{k} {v:.4g}" for k, v in row.items()) + "  "
                  + "  ".join(f"best other / {k} {v:.2f}" for k, v in ratios.items()), flush=True)


if __name__ == "__main__":
    main()
