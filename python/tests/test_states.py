# SPDX-License-Identifier: Apache-2.0
"""Sessions with state: outputs that are inputs of the next run."""

import pathlib

import numpy as np
import pytest

import tartan

_DATA = pathlib.Path(__file__).resolve().parents[2] / "tests/frontend/generate/data"


def _tokens(name):
    lines = (_DATA / f"{name}.tokens").read_text().splitlines()
    return [int(t) for t in lines[0].split()], [int(t) for t in lines[1].split()]


def test_a_recurrent_network_chooses_onnxruntimes_tokens():
    session = tartan.InferenceSession(_DATA / "recurrent.onnx", tier="ready", states={"h_out": "h_in"})
    assert [i.name for i in session.get_inputs()] == ["input_ids"]
    assert [o.name for o in session.get_outputs()] == ["logits"]
    prompt, wanted = _tokens("recurrent")

    def read(tokens):
        for token in tokens:
            (scores,) = session.run(None, {"input_ids": [[token]]})
        return int(scores.argmax())

    chosen = [read(prompt)]
    middle = None
    while len(chosen) < len(wanted):
        if len(chosen) == 10:
            middle = session.state("h_in")
        chosen.append(read(chosen[-1:]))
    assert chosen == wanted
    session.set_state("h_in", middle)
    assert read(wanted[9:10]) == wanted[10]
    session.reset_states()
    assert read(prompt) == wanted[0]


def test_a_cache_that_grows_begins_empty():
    states = {f"present.{i}.{part}": f"past_key_values.{i}.{part}" for i in range(2) for part in ("key", "value")}
    session = tartan.InferenceSession(_DATA / "plain.onnx", tier="ready", states=states)
    now, wanted = _tokens("plain")
    for token in wanted[:5]:
        (scores,) = session.run(["logits"], {"input_ids": [now]})
        now = [int(scores[0, -1].argmax())]
        assert now == [token]
    assert session.state("past_key_values.0.key").shape == (1, 2, 10, 8)


def test_says_what_is_wrong():
    with pytest.raises(ValueError, match="no output 'h'"):
        tartan.InferenceSession(_DATA / "recurrent.onnx", states={"h": "h_in"})
    session = tartan.InferenceSession(_DATA / "recurrent.onnx", tier="ready", states={"h_out": "h_in"})
    with pytest.raises(ValueError, match="'h_in' is a state"):
        session.run(None, {"input_ids": [[1]], "h_in": np.zeros((1, 16), np.float32)})
    with pytest.raises(ValueError, match="not a state"):
        session.set_state("input_ids", [[1]])
    with pytest.raises(IndexError):
        session.run(None, {"input_ids": [[61]]})
    with pytest.raises(ValueError, match="no states"):
        tartan.InferenceSession(_DATA / "recurrent.onnx", tier="ready").reset_states()
