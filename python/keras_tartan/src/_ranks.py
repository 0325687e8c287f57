# SPDX-License-Identifier: Apache-2.0
"""Data-parallel steps of several ranks. A step is two captured functions. The first one computes the gradients of the
rank's part of a batch, and writes them, times the part's rows, to variables. The ranks add these variables. The second
one divides by the rows of the whole batch, and updates the weights, alike on all ranks. The states of metrics are added
with the gradients, so that logs describe the whole batch."""

import contextlib
import random

import numpy as np
from keras.src import callbacks as callbacks_module, tree
from keras.src.backend.common import global_state
from keras.src.backend.common.masking import get_keras_mask
from keras.src.backend.common.stateless_scope import StatelessScope
from keras.src.optimizers.base_optimizer import BaseOptimizer
from keras_tartan.src import core, distribution_lib, numpy as knp
from keras_tartan.src._type import from_numpy
from keras_tartan.src._values import untraced
from tartan import _ranks, _variable
from tartan._tensor import state

# Callbacks that write files or send messages: the first rank alone calls them.
_WRITERS = tuple(getattr(callbacks_module, name) for name in (
    "BackupAndRestore", "CSVLogger", "ModelCheckpoint", "OrbaxCheckpoint", "ProgbarLogger", "RemoteMonitor",
    "TensorBoard") if hasattr(callbacks_module, name))


def active():
    """Returns the distribution if it joins several ranks, or None. NotImplementedError for ModelParallel."""
    distribution = global_state.get_global_attribute("distribution")
    if distribution is None:
        return None
    distribution_lib.check_distribution(distribution)
    return None if _ranks.joined() is None else distribution


def is_first():
    return _ranks.joined() is None or _ranks.joined().rank == 0


def of_first_rank(value):
    return _ranks.broadcast_object(value)


def any_of(flag):
    """Returns whether the flag is set on any rank."""
    return bool(_ranks.sum_arrays(np.array([flag], "int32"))[0])


@contextlib.contextmanager
def hidden_distribution():
    """Keras divides only tf.data among processes, and rejects other data. Here, each rank takes its part of the
    batches of any data, so the distribution is hidden while Keras makes the iterator."""
    distribution = active()
    if distribution is None:
        yield
        return
    global_state.set_global_attribute("distribution", None)
    try:
        yield
    finally:
        global_state.set_global_attribute("distribution", distribution)


def callbacks_of_rank(callbacks):
    """Returns the callbacks without those that only the first rank calls."""
    if is_first() or callbacks is None:
        return callbacks
    return [callback for callback in tree.flatten(callbacks) if not isinstance(callback, _WRITERS)]


# --- Data.


def rows_of(data):
    return next(part for part in tree.flatten(data) if part is not None).shape[0]


class Part:
    """This rank's part of a batch. If it has no rows, `data` is the first row of the batch, for its shapes."""

    def __init__(self, data, is_divided):
        total = rows_of(data)
        ranks = _ranks.joined()
        first, last = 0, total
        if is_divided:
            first, last = (total * r // ranks.world_size for r in (ranks.rank, ranks.rank + 1))
        self.rows = last - first
        if self.rows == 0:
            first, last = 0, 1
        self.data = data if self.rows == total else tree.map_structure(
            lambda x: None if x is None else x[first:last], data)


def parts(iterator, distribution, model, stop):
    """Yields (begin, end, parts of batches) until the data end on all ranks, or the attribute `stop` of the model is
    set on one. RuntimeError on all ranks if the data end on some only; ValueError if their batches differ in size."""
    size = _ranks.joined().world_size
    is_divided = distribution.auto_shard_dataset
    iterator = iter(iterator)
    count = 0
    while True:
        item = None if getattr(model, stop) else next(iterator, None)
        rows = sum(rows_of(data) for data in item[2]) if item is not None else 0
        has, stops, all_rows = _ranks.sum_arrays(np.array([item is not None, getattr(model, stop), rows], "int64"))
        if stops:
            setattr(model, stop, True)
            return
        if has == 0:
            return
        if has < size:
            raise RuntimeError(f"the data ended after {count} steps on {size - has} of {size} ranks: every rank needs "
                               "equally many batches")
        if is_divided and rows * size != all_rows:
            raise ValueError(f"a batch has {rows} examples on this rank, and other sizes on others: with "
                             "auto_shard_dataset every rank is given the same batches, of which it takes a part")
        count += 1
        yield item[0], item[1], [Part(data, is_divided) for data in item[2]]


def share_random_state():
    """Gives all ranks the first rank's state of `random` and `numpy.random`, so that they shuffle alike."""
    states = _ranks.broadcast_object((random.getstate(), np.random.get_state()))
    random.setstate(states[0])
    np.random.set_state(states[1])


# --- Variables.


def _variables(model):
    return list(model.variables) + (list(model.optimizer.variables) if model.optimizer is not None else [])


def _is_seed(variable):
    return "seed_generator_state" in variable.path


def share_variables(model):
    """Gives all ranks the first rank's weights and state of the optimizer, and each rank its own random numbers.
    ValueError on all ranks if the models differ."""
    variables = _variables(model)
    names = [f"{v.path} {v.dtype}{list(v.shape)}" for v in variables]
    for rank, others in enumerate(_ranks.gather_objects(names)):
        for i in range(max(len(names), len(others))):
            pair = [texts[i] if i < len(texts) else "no more variables" for texts in (names, others)]
            if pair[0] != pair[1]:
                raise ValueError(f"the ranks have different models: this one has {pair[0]}, rank {rank} has {pair[1]}")
    own = _ranks.joined().rank
    for variable in variables:
        value = np.array(_ranks.broadcast_array(core.convert_to_numpy(variable)))
        if _is_seed(variable):
            value.flat[0] ^= value.dtype.type(own * 0x9E3779B1 & 0x7FFFFFFF)
        if own:
            variable.assign(value)
    model._is_shared = True


def join_statistics(model, step):
    """Replaces variables that a step updates without gradients (running statistics) by their means over the ranks."""
    captured = step.captured
    written = None if captured is None else captured._written()
    variables = [v for v in model.non_trainable_variables if "float" in str(v.dtype)
                 and (written is None or v._value in written)]
    if not variables:
        return
    values = [core.convert_to_numpy(v) for v in variables]
    sums = _ranks.sum_arrays(np.concatenate([value.ravel().astype("float64") for value in values]))
    means = np.split(sums / _ranks.joined().world_size, np.cumsum([value.size for value in values])[:-1])
    for variable, value, mean in zip(variables, values, means):
        variable.assign(mean.reshape(value.shape).astype(value.dtype))


# --- Steps.

_outputs = None  # outputs of the model in the step that is computed; None: nobody asks for them


def note_outputs(y_pred):
    """Notes outputs whose loss is computed, for their masks."""
    if _outputs is not None:
        _outputs.extend(tree.flatten(y_pred))


@contextlib.contextmanager
def _noted_outputs():
    global _outputs
    _outputs = found = []
    try:
        yield found
    finally:
        _outputs = None


def _weight_of(data, outputs):
    """Returns the weight of a part in the mean over the batch: its rows, or its share of them that no mask leaves out."""
    rows = core.convert_to_tensor(float(rows_of(data)), "float32")
    masks = [get_keras_mask(output) for output in outputs]
    if all(mask is None for mask in masks):
        return rows
    if len(masks) > 1:
        raise NotImplementedError("a model of several ranks has one output if an output has a mask: each would need a "
                                  "weight of its own")
    mask = core.cast(masks[0], "float32")
    return knp.mean(mask) * rows


def _check_losses(model, data):
    """NotImplementedError for losses that are no means over the examples."""
    has_weights = len(data) > 2 and data[2] is not None
    for _, loss, *_ in getattr(model._compile_loss, "_flat_losses", None) or ():
        reduction = getattr(loss, "reduction", None)
        if reduction in ("sum", "none") or reduction == "mean_with_sample_weight" and has_weights:
            raise NotImplementedError(f"the loss '{loss.name}' has the reduction '{reduction}', but ranks average their "
                                      "losses: use 'sum_over_batch_size'")


@contextlib.contextmanager
def _caught_gradients(model, caught):
    """The model's optimizer only notes its gradients here. NotImplementedError if another one is called."""
    optimizer, original = model.optimizer, BaseOptimizer.apply

    def take(grads, trainable_variables=None):
        if caught:
            raise NotImplementedError("a train_step of several ranks calls the optimizer once, but this one calls it twice")
        variables = optimizer._trainable_variables if trainable_variables is None else trainable_variables
        caught.extend((variable, g) for variable, g in zip(variables, grads) if g is not None)

    def refuse(self, *args, **kwargs):
        raise NotImplementedError("a train_step of several ranks has one optimizer, the model's own: gradients of another "
                                  f"one ('{self.name}') would not be added")

    if optimizer is None:
        yield
        return
    optimizer.__dict__["apply"] = take
    BaseOptimizer.apply = refuse
    try:
        yield
    finally:
        BaseOptimizer.apply = original
        del optimizer.__dict__["apply"]


class RankedStep:
    """A step of a training or an evaluation on the parts of batches. Returns the logs of the whole batches."""

    def __init__(self, model, step, name):
        self._model, self._step = model, step
        self._sums = None  # the tartan._ranks.VariableSums
        self._weights = []  # those that have gradients
        self._means = []  # names of logs that are no metrics
        self._metrics = []  # variables of metrics
        self._local = model._step_function(self._compute, name, False)
        self._update = model._step_function(lambda _: self._apply(), name + "_update", False)

    @property
    def captured(self):
        return self._local.captured

    def __call__(self, batches):
        for part in batches:
            logs = self._run(part)
        return logs

    def _run(self, part):
        captured = self._local.captured
        if captured is not None and self._sums is not None:
            self._sums.place()
            captured._watched = self._sums.buckets  # the ranks add a bucket while the device computes others
        if part.rows:
            self._local([part.data])
        else:
            self._compute_nothing(part.data)
        captured = self._local.captured
        self._sums.add(None if captured is None or not part.rows else captured._last_program)
        return self._update([()])

    def _compute(self, data):
        caught = []
        before = self._metric_tensors()
        with _noted_outputs() as outputs, _caught_gradients(self._model, caught):
            logs = self._step(data)
        _check_losses(self._model, data)
        weight = _weight_of(data, outputs)
        self._metrics = list(self._model.metrics_variables)
        self._means = [name for name, value in logs.items() if self._is_mean(name, value, before)]
        # The backward pass begins with the last weights.
        caught.reverse()
        self._weights = [variable for variable, _ in caught]
        values = [_wide(gradient) * core.cast(weight, _wide(gradient).dtype) for _, gradient in caught]
        values += [_wide(variable.value) for variable in self._metrics]
        values += [core.cast(core.convert_to_tensor(logs[name]), "float32") * weight for name in self._means]
        values.append(weight)
        if self._sums is None:
            with untraced():
                self._sums = _ranks.VariableSums([
                    _variable.Variable(from_numpy(np.zeros(x.shape, str(x.dtype))), name="sum") for x in values])
        for variable, value in zip(self._sums.variables, values):
            variable.assign(value)

    def _metric_tensors(self):
        return [v._value._tensor for v in self._model.metrics_variables]

    def _is_mean(self, name, value, before):
        """Returns True for a number in the logs that is no result of a metric which the step has updated."""
        if len(getattr(value, "shape", ())) != 0:
            return False
        for metric in self._model.metrics:
            if metric.name == name or type(metric).__name__ == "CompileMetrics" and name in metric.result():
                return not any(_is_written(v._value, before) for v in metric.variables)
        return True

    def _compute_nothing(self, data):
        """The rank has no row of this batch. Runs the step for the shapes, and undoes it."""
        model = self._model
        saved = [(v, v.value) for v in [*model.non_trainable_variables, *model.metrics_variables]]
        self._local([data])
        for variable, value in saved:
            variable.assign(value)
        for variable in self._sums.variables:
            variable.assign(np.zeros(variable.shape, str(variable.dtype)))
        for variable, metric in zip(self._sums.variables[len(self._weights):], self._metrics):
            variable.assign(_wide(metric.value))

    def _apply(self):
        values = [variable.value for variable in self._sums.variables]
        weight = values.pop()
        gradients, values = values[:len(self._weights)], values[len(self._weights):]
        if gradients:
            self._model.optimizer.apply(
                [core.cast(g / core.cast(weight, g.dtype), variable.dtype)
                 for g, variable in zip(gradients[::-1], self._weights[::-1])], self._weights[::-1])
        with StatelessScope(state_mapping=list(zip(self._metrics, values))):
            logs = self._model.get_metrics_result()
        means = {name: value / weight for name, value in zip(self._means, values[len(self._metrics):])}
        return {**logs, **means}


def _is_written(variable, before):
    if state.trace is not None:
        return variable in state.trace.writes
    return all(variable._tensor is not tensor for tensor in before)


def _wide(x):
    """Returns a tensor of a type that ranks can add."""
    name = str(x.dtype)
    return x if name in ("float32", "float64", "int32", "int64") else core.cast(x, "float32")


def join_outputs(outputs):
    """Returns the outputs of all ranks, batch after batch. `outputs` has this rank's arrays per batch, None without
    rows."""
    joined = []
    for batch in zip(*_ranks.gather_objects(outputs)):
        joined.extend(part for part in batch if part is not None)
    return joined
