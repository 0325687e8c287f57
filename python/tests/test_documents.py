# SPDX-License-Identifier: Apache-2.0
"""Runs the code examples in documents."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

_ROOT = pathlib.Path(__file__).parents[2]
_BEFORE = {
    "session": "import numpy as np\nimage = np.zeros((1, 1, 28, 28), 'float32')\n"
               "a, b = np.ones((2, 3), 'float32'), np.ones((3, 4), 'float32')\n",
}


def _examples():
    for document in ("README.md", "python/README.md"):
        for code in re.findall(r"```python\n(.*?)```", (_ROOT / document).read_text(encoding="utf-8"), re.S):
            before = "".join(text for word, text in _BEFORE.items() if word in code)
            yield pytest.param(before + code, id=f"{document}: {code.split()[1]}")


@pytest.mark.parametrize("code", list(_examples()))
def test_example(code, tmp_path):
    shutil.copy(_ROOT / "examples/digits/digits.onnx", tmp_path / "model.onnx")
    start = "import keras_tartan\n" if "keras" in code else ""  # as the .pth of an installed package does
    done = subprocess.run([sys.executable, "-c", start + code], cwd=tmp_path, capture_output=True, text=True,
                          env=dict(os.environ, KERAS_BACKEND="tartan"), timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
