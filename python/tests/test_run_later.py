# SPDX-License-Identifier: Apache-2.0
"""Asynchronous session runs."""

import concurrent.futures
import pathlib
import threading

import numpy as np
import pytest

import tartan

_DIGITS = pathlib.Path(__file__).parents[2] / "examples/digits/digits.onnx"


def _pictures(count):
    random = np.random.default_rng(3)
    return [random.random((1, 1, 28, 28), np.float32) for _ in range(count)]


def test_futures_have_what_run_gives():
    session = tartan.InferenceSession(_DIGITS)
    pictures = _pictures(5)
    futures = [session.run_later(None, {"x": x}) for x in pictures]
    concurrent.futures.wait(futures)
    for future, x in zip(futures, pictures):
        np.testing.assert_allclose(future.result()[0], session.run(None, {"x": x})[0], rtol=1e-5, atol=1e-6)


def test_a_wrong_input_is_the_future_s_error():
    session = tartan.InferenceSession(_DIGITS)
    future = session.run_later(None, {"x": np.zeros((1, 3, 28, 28), np.float32)})
    with pytest.raises(ValueError):
        future.result()
    with pytest.raises(ValueError, match="the model has no output 'z'"):
        session.run_later(["z"], {"x": _pictures(1)[0]})


def test_a_callback_is_told_outputs_and_errors():
    session = tartan.InferenceSession(_DIGITS)
    told, called = [], threading.Semaphore(0)

    def callback(outputs, user_data, error):
        told.append((outputs, user_data, error))
        called.release()

    (x,) = _pictures(1)
    session.run_async(None, {"x": x}, callback, "first")
    assert called.acquire(timeout=60)
    session.run_async(None, {"x": x[:, :, :5]}, callback, "second")
    assert called.acquire(timeout=60)
    (outputs, first, no_error), (nothing, second, error) = told
    assert (first, second, no_error, nothing) == ("first", "second", "", [])
    np.testing.assert_allclose(outputs[0], session.run(None, {"x": x})[0], rtol=1e-5, atol=1e-6)
    assert "x" in error
