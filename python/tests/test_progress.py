# SPDX-License-Identifier: Apache-2.0
"""The progress line appears for slow compilations, on a terminal only."""

import io
import sys
import time

import pytest
from tartan import _progress


class _Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def short(monkeypatch):
    monkeypatch.delenv("TARTAN_PROGRESS", raising=False)
    monkeypatch.setattr(_progress, "_FIRST", 0.05)
    monkeypatch.setattr(_progress, "_OFTEN", 0.02)


def _text(monkeypatch, stream, seconds):
    monkeypatch.setattr(sys, "stderr", stream)
    with _progress.compiling("train_step"):
        time.sleep(seconds)
    return stream.getvalue()


def test_what_takes_long_is_told_and_leaves_nothing(short, monkeypatch):
    text = _text(monkeypatch, _Terminal(), 0.4)
    assert text.startswith("\r\x1b[Ktartan: compiling train_step: 0 s")
    assert text.endswith("\r\x1b[K") and "\n" not in text


def test_what_is_quick_is_not_told(monkeypatch):
    monkeypatch.delenv("TARTAN_PROGRESS", raising=False)
    assert _text(monkeypatch, _Terminal(), 0) == ""


def test_files_and_pipes_are_told_nothing(short, monkeypatch):
    assert _text(monkeypatch, io.StringIO(), 0.2) == ""
    monkeypatch.setattr(sys, "stderr", None)
    with _progress.compiling("step"):
        time.sleep(0.1)


def test_the_environment_decides(short, monkeypatch):
    monkeypatch.setenv("TARTAN_PROGRESS", "0")
    assert _text(monkeypatch, _Terminal(), 0.2) == ""
    monkeypatch.setenv("TARTAN_PROGRESS", "1")
    assert "compiling train_step" in _text(monkeypatch, io.StringIO(), 0.2)


def test_errors_pass_and_end_the_line(short, monkeypatch):
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with pytest.raises(KeyError):
        with _progress.compiling("step"):
            time.sleep(0.2)
            raise KeyError("x")
    assert stream.getvalue().endswith("\r\x1b[K")


def test_a_captured_function_tells(short, monkeypatch):
    import tartan

    create = tartan._core.Program.create

    class Slow:
        @staticmethod
        def create(*args, **kwargs):
            time.sleep(0.2)
            return create(*args, **kwargs)

    monkeypatch.setattr("tartan._function._core", type("Core", (), dict(vars(tartan._core), Program=Slow)))
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    assert float(tartan.function(lambda x: x + 1, name="plus")(tartan.asarray(1.0))) == 2.0
    assert "compiling plus" in stream.getvalue()
