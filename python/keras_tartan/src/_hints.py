# SPDX-License-Identifier: Apache-2.0
"""Attributes that programs for torch and TensorFlow use: the errors name what does the same here."""

_PAGE = "keras_tartan/README.md, 'Custom training steps'"
_DERIVATIVES = ("derivatives are computed by tartan.gradients(loss, values) in `with tartan.recording():`, or by "
                "tartan.value_and_grad of a function")
_VALUES = "keras.ops.convert_to_numpy returns the values, and variable.assign changes a variable"
_HINTS = {
    # tf.GradientTape reads the last two.
    **dict.fromkeys(("grad_fn", "requires_grad", "requires_grad_", "retain_grad", "_id", "handle"), _DERIVATIVES),
    **dict.fromkeys(("data", "cpu", "cuda"), _VALUES),
}


def missing(self, name):
    """The `__getattr__` of tensors and variables."""
    error = f"'{type(self).__name__}' object has no attribute '{name}'"
    if name in _HINTS:
        error += f": with the tartan backend, {_HINTS[name]} ({_PAGE})"
    raise AttributeError(error, name=name, obj=self)
