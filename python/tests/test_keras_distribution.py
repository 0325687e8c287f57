# SPDX-License-Identifier: Apache-2.0
"""keras.distribution: DataParallel over ranks that mpirun starts trains as one process with the whole batch."""

import os

os.environ["KERAS_BACKEND"] = "tartan"

import tartan  # noqa: E402, F401
import keras  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

from ranks import DATA_PARALLEL, needs_mpi, run, start  # noqa: E402

_CURVES = DATA_PARALLEL + """
L = keras.layers
networks = {
    "dense": ([keras.Input((12,)), L.Dense(16, "relu", kernel_regularizer="l2"), L.Dense(4)], (12,)),
    "conv": ([keras.Input((6, 6, 2)), L.Conv2D(4, 3, activation="relu"), L.Flatten(), L.Dense(4)], (6, 6, 2)),
    "embedding": ([keras.Input((5,), dtype="int32"), L.Embedding(30, 8), L.GlobalAveragePooling1D(), L.Dense(4)], (5,)),
}
found = {}
rng = np.random.default_rng(0)
for name, (layers, shape) in networks.items():
    x = rng.normal(size=(65, *shape)).astype("float32") if name != "embedding" else rng.integers(0, 30, (65, *shape))
    y = rng.integers(0, 4, 65)
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"])
    losses = []
    log = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: losses.append(float(logs["loss"])))
    history = model.fit(x, y, batch_size=16, epochs=10, verbose=0, callbacks=[log], validation_data=(x[:20], y[:20]))
    found[name] = [losses, history.history, model.evaluate(x, y, batch_size=33, verbose=0, return_dict=True),
                   model.predict(x, batch_size=22, verbose=0).tolist()]
report(found)
"""


def _assert_same(found, wanted, rtol):
    losses, history, evaluated, outputs = found
    np.testing.assert_allclose(losses, wanted[0], rtol=rtol)
    for name in wanted[1]:
        np.testing.assert_allclose(history[name], wanted[1][name], rtol=rtol)
    for name in wanted[2]:
        np.testing.assert_allclose(evaluated[name], wanted[2][name], rtol=rtol)
    np.testing.assert_allclose(outputs, wanted[3], rtol=rtol, atol=1e-5)


@needs_mpi
def test_losses_metrics_and_outputs_are_those_of_one_process(tmp_path):
    # The last batch has one row, so one of the two ranks has none.
    (alone,) = run(_CURVES, tmp_path, 1)
    for found in run(_CURVES, tmp_path, 2):
        for name, wanted in alone.items():
            assert len(wanted[0]) == 50
            _assert_same(found[name], wanted, rtol=1e-5)


_KERNELS = DATA_PARALLEL + """
rng = np.random.default_rng(0)
x, y = rng.normal(size=(24, 300)).astype("float32"), rng.normal(size=(24, 1)).astype("float32")
model = keras.Sequential([keras.Input((300,)), *[keras.layers.Dense(1400, "relu") for _ in range(2)], keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.01), "mse")
losses = model.fit(x, y, batch_size=8, epochs=3, verbose=0).history["loss"]
step = model.train_function
report([losses, len(step._sums.buckets) if distributed.world_size() > 1 else 0])
"""


@needs_mpi
def test_buckets_are_added_while_kernels_compute_others(tmp_path):
    ((alone, _),) = run(_KERNELS, tmp_path, 1, TARTAN_HOST="off")
    for found, buckets in run(_KERNELS, tmp_path, 2, TARTAN_HOST="off"):
        assert buckets >= 2
        np.testing.assert_allclose(found, alone, rtol=1e-5)


_SMALL = """
def network(**options):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, "tanh"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), "mse", **options)
    return model
rng = np.random.default_rng(2)
x, y = rng.normal(size=(24, 3)).astype("float32"), rng.normal(size=(24, 1)).astype("float32")
"""
_DATA = DATA_PARALLEL + _SMALL + """
class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 3
    def __getitem__(self, i):
        return x[8 * i:8 * i + 8], y[8 * i:8 * i + 8]
def generate():
    while True:
        for i in range(3):
            yield x[8 * i:8 * i + 8], y[8 * i:8 * i + 8]
losses = {}
for name, arguments in {"arrays": dict(x=x, y=y, batch_size=8, shuffle=False), "dataset": dict(x=Batches(), shuffle=False),
                        "generator": dict(x=generate(), steps_per_epoch=3),
                        "shuffled": dict(x=x, y=y, batch_size=8)}.items():
    keras.utils.set_random_seed(7 if distributed.rank() == 0 or name != "shuffled" else 8)
    losses[name] = network().fit(**arguments, epochs=3, verbose=0).history["loss"]
if distributed.world_size() > 1:
    keras.distribution.distribution().auto_shard_dataset = False
    r = distributed.rank()
    own = np.concatenate([np.arange(8 * i + 4 * r, 8 * i + 4 * r + 4) for i in range(3)])
    keras.utils.set_random_seed(7)
    model = network()
    losses["own"] = model.fit(x[own], y[own], batch_size=4, shuffle=False, epochs=3, verbose=0).history["loss"]
    losses["rows"] = len(model.predict(x[own], verbose=0))
    try:
        model.fit(x[:4 + 4 * r], y[:4 + 4 * r], batch_size=4, verbose=0)
    except RuntimeError as error:
        losses["error"] = str(error)
report(losses)
"""


@needs_mpi
def test_arrays_datasets_and_generators_are_divided(tmp_path):
    (alone,) = run(_DATA, tmp_path, 1)
    np.testing.assert_allclose(alone["dataset"], alone["arrays"], rtol=1e-6)
    np.testing.assert_allclose(alone["generator"], alone["arrays"], rtol=1e-6)
    assert np.abs(np.array(alone["shuffled"]) / alone["arrays"] - 1).max() > 1e-4
    for found in run(_DATA, tmp_path, 2):
        for name in ("arrays", "dataset", "generator", "shuffled"):
            np.testing.assert_allclose(found[name], alone[name], rtol=1e-5)
        np.testing.assert_allclose(found["own"], alone["arrays"], rtol=1e-5)
        assert found["rows"] == 12
        assert found["error"].startswith("the data ended after 1 steps on 1 of 2 ranks")


_STEPS = DATA_PARALLEL + """
class Tape(keras.Model):
    def train_step(self, data):
        x, y, _ = data
        with tartan.recording():
            weights = self.trainable_weights
            values = [w.value for w in weights]
            loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
            self.optimizer.apply(tartan.gradients(loss, values), weights)
        return {"loss": loss}
class Torch(keras.Model):
    def train_step(self, data):
        x, y, _ = data
        self.zero_grad()
        loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        loss.backward()
        weights = self.trainable_weights
        self.optimizer.apply([w.value.grad for w in weights], weights)
        return {"loss": loss}
class Two(Tape):
    def train_step(self, data):
        self.other.apply([keras.ops.zeros(w.shape) for w in self.trainable_weights], self.trainable_weights)
        return {"loss": keras.ops.zeros(())}
rng = np.random.default_rng(2)
x, y = rng.normal(size=(27, 3)).astype("float32"), rng.normal(size=(27, 1)).astype("float32")
found = {}
for kind, eager in ((Tape, False), (Torch, False), (Tape, True)):
    keras.utils.set_random_seed(1)
    inputs = keras.Input((3,))
    model = kind(inputs, keras.layers.Dense(1)(keras.layers.Dense(5, "tanh")(inputs)))
    model.compile("adam", "mse", run_eagerly=eager)
    found[f"{kind.__name__}{eager}"] = [float(model.train_on_batch(x[i:i + 9], y[i:i + 9], return_dict=True)["loss"])
                                        for i in (0, 9, 18)]
if distributed.world_size() > 1:
    model = Two(inputs, keras.layers.Dense(1)(inputs))
    model.compile("adam", "mse")
    model.other = keras.optimizers.SGD(name="second")
    try:
        model.fit(x, y, verbose=0)
    except NotImplementedError as error:
        found["error"] = str(error)
report(found)
"""


@needs_mpi
def test_own_training_steps_join_their_gradients(tmp_path):
    (alone,) = run(_STEPS, tmp_path, 1)
    for found in run(_STEPS, tmp_path, 2):
        assert "another one ('second') would not be added" in found.pop("error")
        assert found.keys() == alone.keys()
        for name in alone:
            np.testing.assert_allclose(found[name], alone[name], rtol=1e-5)


_MASKS = DATA_PARALLEL + """
rng = np.random.default_rng(2)
tokens = rng.integers(1, 9, (12, 5))
tokens[:7, 2:] = 0
tokens[9:, 4:] = 0
y = rng.normal(size=(12, 5, 1)).astype("float32")
inputs = keras.Input((5,), dtype="int32")
embedded = keras.layers.Embedding(9, 4, mask_zero=True)(inputs)
model = keras.Model(inputs, keras.layers.Dense(1)(embedded))
model.compile(keras.optimizers.SGD(0.5), "mse")
weights = []
for i in (0, 4):
    model.train_on_batch(tokens[i:i + 8], y[i:i + 8])
    weights.append([w.numpy().tolist() for w in model.weights])
found = {"weights": weights}
model.compile("sgd", keras.losses.MeanSquaredError(reduction="sum"))
try:
    model.fit(tokens, y, verbose=0)
except NotImplementedError as error:
    found["error"] = str(error)
report(found)
"""


@needs_mpi
def test_masked_steps_have_the_weight_of_their_part(tmp_path):
    (alone,) = run(_MASKS, tmp_path, 1)
    for found in run(_MASKS, tmp_path, 2):
        assert found["error"].startswith("the loss 'mean_squared_error' has the reduction 'sum'")
        for step, wanted in zip(found["weights"], alone["weights"]):
            for a, b in zip(step, wanted):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


_CALLBACKS = DATA_PARALLEL + _SMALL + """
folder = sys.argv[1] + f"_files{distributed.rank()}"
class Time(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs):
        self.model.stop_training = distributed.rank() == 1 and batch == 1
model = network(metrics=[keras.metrics.RootMeanSquaredError(), keras.metrics.R2Score()])
model.fit(x, y, batch_size=8, epochs=2, verbose=1, callbacks=[
    keras.callbacks.ModelCheckpoint(folder + ".weights.h5", save_weights_only=True), keras.callbacks.CSVLogger(folder + ".csv")])
seen = []
history = model.fit(x, y, batch_size=4, epochs=9, verbose=0, callbacks=[
    Time(), keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(batch))])
normal = keras.Sequential([keras.Input((3,)), keras.layers.BatchNormalization(momentum=0.0), keras.layers.Dense(1)])
normal.compile("sgd", "mse")
normal.fit(x, y, batch_size=24, epochs=1, verbose=0)
dropout = keras.Sequential([keras.Input((3,)), keras.layers.Dropout(0.5)])
dropout.compile("sgd", "mse")
dropout.fit(x[:2], x[:2], epochs=1, verbose=0)
class Break(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs):
        if epoch == 2:
            raise KeyError("a fault on all ranks")
again, epochs = {"x": x, "y": y, "batch_size": 8, "epochs": 4, "verbose": 0}, []
try:
    network().fit(callbacks=[keras.callbacks.BackupAndRestore(sys.argv[1] + "_backup"), Break()], **again)
except KeyError:
    pass
resumed = network()
resumed.fit(callbacks=[keras.callbacks.BackupAndRestore(sys.argv[1] + "_backup"), keras.callbacks.LambdaCallback(
    on_epoch_begin=lambda epoch, logs: epochs.append(epoch))], **again)
report({"epochs": epochs, "resumed": resumed.get_weights()[0].tolist(), "files": [os.path.exists(folder + end) for end in (".weights.h5", ".csv")], "seen": seen,
        "rate": float(model.optimizer.learning_rate.numpy()), "mean": normal.layers[0].moving_mean.numpy().tolist(),
        "wanted": x.mean(0).tolist(), "rmse": history.history["root_mean_squared_error"],
        "w": model.get_weights()[0].tolist(), "seed": [v.numpy().tolist() for v in dropout.non_trainable_variables]})
"""


@needs_mpi
def test_the_first_rank_writes_and_any_rank_stops(tmp_path):
    found = run(_CALLBACKS, tmp_path, 2)
    assert [of_rank["files"] for of_rank in found] == [[True, True], [False, False]]
    for of_rank in found:
        assert of_rank["seen"] == [0, 1]
        np.testing.assert_allclose(of_rank["mean"], of_rank["wanted"], rtol=1e-5, atol=1e-6)
    assert found[0]["w"] == found[1]["w"] and found[0]["rmse"] == found[1]["rmse"]
    assert found[0]["epochs"] == found[1]["epochs"] == [2, 3] and found[0]["resumed"] == found[1]["resumed"]
    assert found[0]["seed"] != found[1]["seed"]  # each rank drops other values


@needs_mpi
def test_ranks_with_different_models_say_where(tmp_path):
    done = start(DATA_PARALLEL + """
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4 + distributed.rank(), name="first")])
model.compile("sgd", "mse")
model.fit(np.zeros((4, 3)), np.zeros((4, 4 + distributed.rank())), verbose=0)
""", tmp_path, 2)
    assert done.returncode != 0
    assert "this one has sequential/first/kernel float32[3, 4], rank 1 has sequential/first/kernel float32[3, 5]" in done.stderr


def test_one_process_has_one_device():
    devices = keras.distribution.list_devices()
    assert len(devices) == keras.distribution.get_device_count() == 1
    kind, number = devices[0].split(":")
    assert number == "0" and keras.distribution.list_devices(kind) == devices
    assert keras.distribution.list_devices("tpu") == []
    with keras.distribution.DataParallel().scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        assert len(model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0).history["loss"]) == 1


def test_initialize_rejects_another_number_of_processes():
    with pytest.raises(ValueError, match="num_processes is 4, but the MPI launcher says 1"):
        keras.distribution.initialize(num_processes=4)


def test_model_parallel_says_that_it_is_not_there():
    mesh = keras.distribution.DeviceMesh((1, 1), ("batch", "model"), keras.distribution.list_devices())
    layout = keras.distribution.LayoutMap(mesh)
    layout[".*kernel"] = (None, "model")
    with keras.distribution.ModelParallel(layout_map=layout).scope():
        with pytest.raises(NotImplementedError, match="no ModelParallel yet"):
            keras.Variable(np.ones(2))
        with pytest.raises(NotImplementedError, match="no ModelParallel yet"):
            keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]).compile("sgd", "mse")
    divided = keras.distribution.DeviceMesh((1, 2), ("batch", "model"), ["cpu:0", "cpu:1"])
    with pytest.raises(NotImplementedError, match="no ModelParallel yet"):
        keras.distribution.distribute_tensor(keras.ops.ones((2, 2)), keras.distribution.TensorLayout((None, "model"), divided))
