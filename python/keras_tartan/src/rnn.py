# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers, step by step."""

from keras.src import tree
from keras_tartan.src import numpy as knp
from keras_tartan.src._kit import T, is_exported, reshaped
from keras_tartan.src._values import cast
from tartan._control import looped
from tartan._tensor import state


def _masked(mask, new, old):
    """Returns `new` in rows where the mask holds, else `old`."""
    mask = reshaped(mask, (mask.shape[0],) + (1,) * (len(new.shape) - 1))
    return knp.where(mask, new, cast(old, new.dtype))


def _looped(step_function, inputs, states, constants, mask, steps, go_backwards, zero_output_for_mask):
    """Runs the steps as a loop. Returns the last output, the outputs stacked in the order of the steps, and the last
    states. Returns None if the steps must be captured one by one."""
    flat, given = tree.flatten(inputs), tree.flatten(states)
    if any(len(x.shape) == 0 or x.shape[0] != steps for x in flat):
        return None
    given = [T(x) for x in given]
    rows = list(flat) + ([] if mask is None else [mask])
    keeps_last = mask is not None

    def apply(carry, row):
        now = row.pop() if mask is not None else None
        inner = tree.pack_sequence_as(states, carry[:len(given)])
        output, after = step_function(tree.pack_sequence_as(inputs, row), tuple(inner) + tuple(constants))
        after = [T(x) for x in tree.flatten(after)]
        if now is not None:
            after = [_masked(now, new, old) for new, old in zip(after, carry)]
        return T(output), after, now

    def step(carry, row):
        output, after, now = apply(carry, row)
        if now is None:
            return after, [output]
        last = carry[len(given)]
        shown = _masked(now, output, knp.zeros_like(output) if zero_output_for_mask else last)
        return [*after, _masked(now, output, last) if zero_output_for_mask else shown], [shown]

    if not isinstance(states, tuple):
        return None
    first = []
    if keeps_last:  # the shape of an output
        trace = state.trace
        writes = dict(trace.writes) if trace is not None else {}
        output = apply(list(given), [x[0] for x in rows])[0]
        if trace is not None:
            trace.writes.clear()
            trace.writes.update(writes)
        first = [knp.zeros(output.shape, output.dtype)]
    made = looped(step, [*given, *first], rows, steps, go_backwards)
    if made is None:
        return None
    carry, (outputs,) = made
    if go_backwards:
        outputs = knp.flip(outputs, 0)
    last = carry[len(given)] if keeps_last else outputs[-1]
    return last, outputs, tree.pack_sequence_as(states, carry[:len(given)])


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
    made = _looped(step_function, inputs, states, constants, mask, steps, go_backwards, zero_output_for_mask)
    if made is not None:
        last, outputs, states = made
        if not return_all_outputs:
            outputs = knp.expand_dims(last, 0)
        return last, outputs if time_major else swap(outputs), states
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
