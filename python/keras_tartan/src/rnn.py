# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers, step by step."""

from keras.src import tree
from keras_tartan.src import numpy as knp
from keras_tartan.src._kit import T, is_exported, reshaped
from keras_tartan.src._values import cast


def _masked(mask, new, old):
    """Returns `new` in rows where the mask holds, else `old`."""
    mask = reshaped(mask, (mask.shape[0],) + (1,) * (len(new.shape) - 1))
    return knp.where(mask, new, cast(old, new.dtype))


def rnn(step_function, inputs, initial_states, go_backwards=False, mask=None, constants=None, unroll=False,
        input_length=None, time_major=False, zero_output_for_mask=False, return_all_outputs=True):
    def swap(x):
        return knp.swapaxes(x, 0, 1)

    inputs = tree.map_structure(T, inputs)
    if not time_major:
        inputs = tree.map_structure(swap, inputs)
    steps = tree.flatten(inputs)[0].shape[0]
    if mask is not None:
        mask = T(mask, "bool")
        if len(mask.shape) == 3:
            mask = mask[..., 0]
        if not time_major:
            mask = swap(mask)
    constants = list(constants) if constants is not None else []
    states = tuple(initial_states)
    outputs = []
    last = None
    order = range(steps - 1, -1, -1) if go_backwards else range(steps)
    for t in order:
        output, new_states = step_function(tree.map_structure(lambda x: x[t], inputs), tuple(states) + tuple(constants))
        if mask is not None:
            now = mask[t]
            kept = knp.zeros_like(output) if last is None or zero_output_for_mask else last
            new_states = [_masked(now, new, old) for new, old in
                          zip(tree.flatten(new_states), tree.flatten(tuple(states)))]
            new_states = tree.pack_sequence_as(tuple(states), new_states)
            shown = _masked(now, output, kept)
            if last is not None and zero_output_for_mask:
                last = _masked(now, output, last)
            else:
                last = shown
            output = shown
        else:
            last = output
        states = new_states
        outputs.append(output)
    if return_all_outputs:
        stacked = knp.stack(outputs)
    else:
        stacked = knp.stack([last])
    if not time_major:
        stacked = swap(stacked)
    return last, stacked, states


def cudnn_ok(*args, **kwargs):
    return False


def _fused(name):
    """Exports one operator for all time steps. Outside export, NotImplementedError makes Keras call rnn()."""
    def function(*args, **kwargs):
        if not is_exported() or name.startswith("bidirectional"):
            raise NotImplementedError(f"a fused {name}")
        from keras_tartan.src.onnx_export import recurrent

        return getattr(recurrent, name)(*args, **kwargs)

    return function


lstm, gru = _fused("lstm"), _fused("gru")
bidirectional_lstm, bidirectional_gru = _fused("bidirectional_lstm"), _fused("bidirectional_gru")
