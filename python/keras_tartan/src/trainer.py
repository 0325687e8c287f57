# SPDX-License-Identifier: Apache-2.0
"""fit, evaluate and predict: a step is captured once per signature of its batch, and replayed."""

import inspect
import warnings

import numpy as np
import tartan
from keras.src import backend, optimizers as optimizers_module, tree
from keras.src import callbacks as callbacks_module
from keras.src.backend import config
from keras.src.backend.common import standardize_dtype
from keras.src.trainers import trainer as base_trainer
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.trainers.epoch_iterator import EpochIterator
from keras.src.utils import traceback_utils
from keras.src.utils.python_utils import pythonify_logs
from keras_tartan.src import _errors, _ranks, _torch_style, _updates, core, numpy as knp
from keras_tartan.src._type import BackendTensor
from keras_tartan.src._values import NeedsValues
from tartan._tensor import ConcretizationError, Tensor

_BaseTrainer = getattr(base_trainer, "BaseTrainer", None) or base_trainer.Trainer  # Keras 3.16, 3.15


def _as_array(x):
    """Converts a leaf of a batch for a captured step: NumPy arrays and tensors stay, numbers become arrays."""
    if x is None or isinstance(x, (Tensor, np.ndarray)):
        return x
    if hasattr(x, "value") and not isinstance(x, np.generic):
        return core.convert_to_tensor(x)
    if isinstance(x, (list, bool, int, float)):
        return core.convert_to_tensor(x)
    return np.asarray(x)


def _batch(data):
    return tree.map_structure(_as_array, data)


class Trainer(_BaseTrainer):
    def __init__(self):
        super().__init__()
        self.train_function = None
        self.test_function = None
        self.predict_function = None
        self._is_shared = False  # whether all ranks have the first rank's variables

    # --- Computation of a step.

    def _compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        _ranks.note_outputs(y_pred)
        with _errors.about("the loss", y=y, y_pred=y_pred, **weights):
            return super()._compute_loss(x, y, y_pred, sample_weight, training)

    def _forward(self, x, training):
        return self(x, training=training) if self._call_has_training_arg else self(x)

    def _track_loss(self, loss, x):
        rows = next(part for part in tree.flatten(x) if part is not None).shape[0]
        self._loss_tracker.update_state(loss, sample_weight=rows)

    def train_step(self, data):
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        with tartan.recording():
            weights = self.trainable_weights
            values = [weight.value for weight in weights]
            y_pred = self._forward(x, True)
            loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=True)
            self._track_loss(loss, x)
            if self.optimizer is not None:
                loss = self.optimizer.scale_loss(loss)
            if weights:
                derivatives = tartan.gradients(loss, values)
                _updates.apply(self.optimizer, derivatives, weights)
            else:
                warnings.warn("The model does not have any trainable weights.")
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def test_step(self, data):
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        y_pred = self._forward(x, False)
        loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=False)
        self._track_loss(loss, x)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def predict_step(self, data):
        x, _, _ = data_adapter_utils.unpack_x_y_sample_weight(data)
        return self._forward(x, False)

    def _train_step(self, data):
        """Runs `train_step`, which users may write in any of three styles: tartan.gradients, JAX's, PyTorch's."""
        if type(self).train_step is Trainer.train_step:
            return self.train_step(data)
        _torch_style.begin_step()
        with tartan.recording():
            return self._stepped(self.train_step, data, self.optimizer.variables if self.optimizer else [])

    def _stepped(self, step, data, *groups):
        """Runs a step. A step with two arguments is stateless, as for JAX: it takes the values of the variables too, and
        returns them after its logs."""
        if len(inspect.signature(step).parameters) < 2:
            return step(data)
        groups = [self.trainable_variables, self.non_trainable_variables, *groups, self.metrics_variables]
        before = tuple([variable.value for variable in group] for group in groups)
        logs, after = step(before, data)
        for variables, old, new in zip(groups, before, after):
            for variable, a, b in zip(variables, old, new):
                if a is not b:
                    variable.assign(b)
        return logs

    # --- Steps as functions of a list of batches.

    def _step_function(self, step, name, joins):
        def one_step(data):
            return step(tree.map_structure(lambda x: BackendTensor._of(x) if isinstance(x, Tensor) else x, data))

        def eager_step(data):
            return step(tree.map_structure(lambda x: None if x is None else core.convert_to_tensor(x), data))

        def run(data):
            if several.captured is None:
                return eager_step(data)
            try:
                return several.captured(data)
            except (NeedsValues, ConcretizationError) as error:
                warnings.warn(f"the {name} of '{self.name}' needs values of tensors, so it is not captured and runs operation "
                              f"by operation (run_eagerly=True does the same without this warning): {error}")
                several.captured = None
            return eager_step(data)

        def several(batches):
            results = [run(_batch(data)) for data in batches]
            if not joins or len(results) == 1:
                return results[-1]
            return tree.map_structure(lambda *parts: knp.concatenate(parts), *results)

        several.captured = None if self.run_eagerly else tartan.function(one_step, name=name)
        return several

    def _captured_steps(self, *inputs):
        """Returns captured functions with their arguments for tartan.explain; None means all captured signatures."""
        if inputs:
            x = _batch(inputs[0] if len(inputs) == 1 else list(inputs))
            if not all(layer.built for layer in self._flatten_layers()):
                self._build_on(x)
            steps = [(self.make_predict_function().captured, ((x,),))]
        else:
            made = (self.train_function, self.test_function, self.predict_function)
            steps = [(step.captured, None) for step in made if step is not None]
        if any(captured is None for captured, _ in steps):
            raise ValueError(f"the model '{self.name}' runs eagerly: its steps are not captured")
        return [(captured, args) for captured, args in steps if args or captured.signatures]

    @staticmethod
    def _suits(function):
        """Returns whether a step suits the current distribution."""
        return function is not None and isinstance(function, _ranks.RankedStep) == (_ranks.active() is not None)

    def _joined_step(self, step, name):
        if _ranks.active() is None:
            return self._step_function(step, name, False)
        return _ranks.RankedStep(self, step, name)

    def make_train_function(self, force=False):
        if force or not self._suits(self.train_function):
            self.train_function = self._joined_step(self._train_step, "train_step")
        return self.train_function

    def make_test_function(self, force=False):
        if force or not self._suits(self.test_function):
            self.test_function = self._joined_step(lambda data: self._stepped(self.test_step, data), "test_step")
        return self.test_function

    def make_predict_function(self, force=False):
        if self.predict_function is None or force:
            self.predict_function = self._step_function(lambda data: self.predict_step(data), "predict_step", True)
        return self.predict_function

    def _epochs_of(self, **options):
        with _ranks.hidden_distribution():
            return EpochIterator(steps_per_execution=self.steps_per_execution, **options)

    def _batches_of(self, iterator, stop):
        """Returns an iterator over (begin, end, batches); of several ranks, over this rank's parts of them."""
        distribution = _ranks.active()
        if distribution is None:
            return iterator
        _ranks.share_random_state()
        return _ranks.parts(iterator, distribution, self, stop)

    def _share_variables(self, again=False):
        if _ranks.active() is not None and (again or not self._is_shared):
            _ranks.share_variables(self)

    def _callbacks_of(self, callbacks, **options):
        if isinstance(callbacks, callbacks_module.CallbackList):
            return callbacks
        if _ranks.active() is not None:
            callbacks = _ranks.callbacks_of_rank(callbacks)
            if not _ranks.is_first():
                options["verbose"] = 0
        verbose = options["verbose"]
        return callbacks_module.CallbackList(callbacks, add_progbar=verbose != 0, model=self, **options)

    # --- Training and evaluation loops.

    @traceback_utils.filter_traceback
    def fit(self, x=None, y=None, batch_size=None, epochs=1, verbose="auto", callbacks=None, validation_split=0.0,
            validation_data=None, shuffle=True, class_weight=None, sample_weight=None, initial_epoch=0,
            steps_per_epoch=None, validation_steps=None, validation_batch_size=None, validation_freq=1):
        self._assert_compile_called("fit")
        most = config.max_epochs()
        if most and most < epochs:
            warnings.warn("Limiting epochs to %d" % most)
            epochs = most
        self._eval_epoch_iterator = None
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                (x, y, sample_weight), validation_split=validation_split)
        validation = None
        if validation_data is not None:
            parts = data_adapter_utils.unpack_x_y_sample_weight(validation_data)
            validation = dict(zip(("x", "y", "sample_weight"), parts))
            validation["batch_size"] = validation_batch_size or batch_size
        iterator = self._epochs_of(x=x, y=y, sample_weight=sample_weight, batch_size=batch_size,
                                   steps_per_epoch=steps_per_epoch, shuffle=shuffle, class_weight=class_weight)
        self._symbolic_build(iterator=iterator)
        iterator.reset()
        callbacks = self._callbacks_of(callbacks, add_history=True, verbose=verbose, epochs=epochs,
                                       steps=iterator.num_batches)
        self.make_train_function()
        self.stop_training = False
        logs = {}
        callbacks.on_train_begin()
        first = self._begin_on_ranks(self._initial_epoch or initial_epoch)
        for epoch in range(first, epochs):
            logs = self._fit_epoch(epoch, iterator, callbacks)
            if validation is not None and self._should_eval(epoch, validation_freq):
                if self._eval_epoch_iterator is None:
                    self._eval_epoch_iterator = self._epochs_of(
                        steps_per_epoch=validation_steps, shuffle=False, **validation)
                found = self.evaluate(steps=validation_steps, callbacks=callbacks, return_dict=True,
                                      _use_cached_eval_dataset=True, **validation)
                logs.update({f"val_{name}": value for name, value in found.items()})
            callbacks.on_epoch_end(epoch, logs)
            if self.stop_training if _ranks.active() is None else _ranks.any_of(self.stop_training):
                break
        if isinstance(self.optimizer, optimizers_module.Optimizer) and epochs > 0:
            self.optimizer.finalize_variable_values(self.trainable_weights)
        self._eval_epoch_iterator = None
        callbacks.on_train_end(logs=logs)
        return self.history

    def _begin_on_ranks(self, first):
        """Gives all ranks the first rank's variables, and returns its first epoch: a callback may have restored them."""
        if _ranks.active() is None:
            return first
        self._share_variables(again=True)
        return _ranks.of_first_rank(first)

    def _fit_epoch(self, epoch, iterator, callbacks):
        self.reset_metrics()
        callbacks.on_epoch_begin(epoch)
        logs = {}
        for begin, end, batches in self._batches_of(iterator, "stop_training"):
            callbacks.on_train_batch_begin(begin)
            logs = self.train_function(batches)
            callbacks.on_train_batch_end(end, logs)
            if self.stop_training and _ranks.active() is None:
                break
        if _ranks.active() is not None:
            _ranks.join_statistics(self, self.train_function)
            return dict(logs)
        return dict(self._get_metrics_result_or_logs(logs))

    @traceback_utils.filter_traceback
    def evaluate(self, x=None, y=None, batch_size=None, verbose="auto", sample_weight=None, steps=None, callbacks=None,
                 return_dict=False, **kwargs):
        self._assert_compile_called("evaluate")
        is_cached = kwargs.pop("_use_cached_eval_dataset", False)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        iterator = self._eval_epoch_iterator if is_cached else self._epochs_of(
            x=x, y=y, sample_weight=sample_weight, batch_size=batch_size, steps_per_epoch=steps, shuffle=False)
        self._symbolic_build(iterator=iterator)
        iterator.reset()
        callbacks = self._callbacks_of(callbacks, verbose=verbose, epochs=1, steps=iterator.num_batches)
        self.make_test_function()
        self._share_variables()
        self.stop_evaluating = False
        callbacks.on_test_begin()
        logs = {}
        self.reset_metrics()
        for begin, end, batches in self._batches_of(iterator, "stop_evaluating"):
            callbacks.on_test_batch_begin(begin)
            logs = self.test_function(batches)
            callbacks.on_test_batch_end(end, logs)
            if self.stop_evaluating and _ranks.active() is None:
                break
        logs = pythonify_logs(self._get_metrics_result_or_logs(logs) if _ranks.active() is None else logs)
        callbacks.on_test_end(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback
    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        iterator = self._epochs_of(x=x, batch_size=batch_size, steps_per_epoch=steps, shuffle=False)
        if not all(layer.built for layer in self._flatten_layers()):
            for _, _, batches in iterator:
                sample, _, _ = data_adapter_utils.unpack_x_y_sample_weight(batches[0])
                self._build_on(sample)
                break
            iterator.reset()
        callbacks = self._callbacks_of(callbacks, verbose=verbose, epochs=1, steps=iterator.num_batches)
        self.make_predict_function()
        self._share_variables()
        self.stop_predicting = False
        callbacks.on_predict_begin()
        parts, shown = [], None
        distribution = _ranks.active()
        for begin, end, batches in self._batches_of(iterator, "stop_predicting"):
            callbacks.on_predict_batch_begin(begin)
            if distribution is not None:
                batches = [part.data for part in batches if part.rows]
            shown = self.predict_function(batches) if batches else None
            parts.append(shown)  # may still be in computation on the device
            callbacks.on_predict_batch_end(end, {"outputs": shown})
            if self.stop_predicting and distribution is None:
                break
        callbacks.on_predict_end()
        if distribution is not None:
            parts = [None if part is None else tree.map_structure(core.convert_to_numpy, part) for part in parts]
            parts = _ranks.join_outputs(parts) if distribution.auto_shard_dataset else parts
        return tree.map_structure(
            lambda *batches: np.concatenate([core.convert_to_numpy(x) for x in batches]), *parts)

    def _build_on(self, x):
        """Creates the variables of a model from the shapes of a batch."""
        spec = tree.map_structure(
            lambda v: None if v is None else backend.KerasTensor(v.shape, standardize_dtype(v.dtype)), x)
        core.compute_output_spec(self, spec)

    # --- Single batches.

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        self._assert_compile_called("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError("Arguments `sample_weight` and `class_weight` cannot be specified at the same time. "
                                 f"Received: sample_weight={sample_weight}, class_weight={class_weight}")
            sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        return self._on_batch((x, y, sample_weight), self.make_train_function, return_dict)

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        self._assert_compile_called("test_on_batch")
        return self._on_batch((x, y, sample_weight), self.make_test_function, return_dict)

    def _on_batch(self, data, make, return_dict):
        data = _batch(data)
        self._symbolic_build(data_batch=data)
        step = make()
        self._share_variables()
        self.reset_metrics()
        distribution = _ranks.active()
        logs = pythonify_logs(step([data if distribution is None else _ranks.Part(data, distribution.auto_shard_dataset)]))
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    def predict_on_batch(self, x):
        x = _batch(x)
        if not all(layer.built for layer in self._flatten_layers()):
            self._build_on(x)
        outputs = self.make_predict_function()([(x,)])
        return tree.map_structure(core.convert_to_numpy, outputs)
