# SPDX-License-Identifier: Apache-2.0
"""Beam search decoding of CTC outputs."""

import heapq

import numpy as np
from keras.src.backend.common.symbolic_scope import in_symbolic_scope
from keras_tartan.src import numpy as knp
from keras_tartan.src._kit import T
from keras_tartan.src._values import NeedsValues, from_array
from keras_tartan.src.nn.activations import log_softmax
from tartan._tensor import state

_NEVER = -np.inf


def _extended(beams, logs, mask):
    """Extends beams by one step. A beam maps labels to the log probabilities of ending in a mask and in a label."""
    grown = {}

    def add(labels, is_label, score):
        scores = grown.setdefault(labels, [_NEVER, _NEVER])
        scores[is_label] = np.logaddexp(scores[is_label], score)

    for labels, (after_mask, after_label) in beams.items():
        either = np.logaddexp(after_mask, after_label)
        for label, score in enumerate(logs):
            if label == mask:
                add(labels, 0, either + score)
            elif labels and labels[-1] == label:
                add(labels, 1, after_label + score)  # still the same label
                add(labels + (label,), 1, after_mask + score)
            else:
                add(labels + (label,), 1, either + score)
    return grown


def _most_likely(logs, count, beam_width, mask):
    """Returns the most likely label sequences with their log probabilities for one input [steps, classes]."""
    def kept(beams, many):
        # Among equal beams, those with larger labels are dropped, as in TensorFlow.
        return heapq.nsmallest(many, beams.items(), key=lambda item: (-np.logaddexp(*item[1]), item[0]))

    beams = {(): [0.0, _NEVER]}
    for step in logs:
        beams = dict(kept(_extended(beams, step, mask), beam_width))
    return [(labels, np.logaddexp(*scores)) for labels, scores in kept(beams, count)]


def beam_search(inputs, sequence_lengths, beam_width, top_paths, mask_index):
    rows, steps, classes = inputs.shape
    logs, lengths = log_softmax(inputs, -1), T(sequence_lengths, "int32")
    if logs.is_traced or lengths.is_traced:
        if in_symbolic_scope():
            return knp.zeros((top_paths, rows, steps), "int32"), knp.sum(logs) + knp.zeros((rows, top_paths), logs.dtype)
        raise NeedsValues("ctc_decode with strategy='beam_search' in a captured step is not implemented in the tartan "
                          "backend: compile with run_eagerly=True")
    if state.recording:
        raise NotImplementedError("the derivative of ctc_decode with strategy='beam_search' is not implemented in the "
                                  "tartan backend")
    mask = classes - 1 if mask_index is None else int(mask_index)
    decoded = np.full((top_paths, rows, steps), -1, "int32")
    scores = np.full((rows, top_paths), _NEVER)
    for row, (values, length) in enumerate(zip(logs.numpy().astype("float64"), lengths.numpy())):
        for path, (labels, score) in enumerate(_most_likely(values[:length], top_paths, beam_width, mask)):
            decoded[path, row, :len(labels)] = labels
            scores[row, path] = score
    return from_array(decoded), from_array(scores, logs.dtype)
