# SPDX-License-Identifier: Apache-2.0
"""Configuration for the tests in the Keras wheel, which has no conftest.py. run.py runs all of them; to run some:
KERAS_BACKEND=tartan python -m pytest -c python/tests/keras_suite/pytest.ini --pyargs keras.src.ops.nn_test

KERAS_SUITE_RESULTS names a file that gets a line of JSON at the start and the end of each test. KERAS_SUITE_DONE
names a file with tests to skip. KERAS_SUITE_SHARE "0.1 7" selects a tenth of the tests with seed 7."""

import hashlib
import json
import os
import pathlib
import re
import time

import _pytest.runner

# A compiler may run in another thread and read the environment, which pytest would change for each test.
_pytest.runner._update_current_test_var = lambda item, when: None

try:  # contains an LLVM that must be loaded before TensorFlow's
    import triton
except ImportError:
    pass

os.environ.setdefault("KERAS_BACKEND", "tartan")

if os.environ["KERAS_BACKEND"] == "tartan":
    import keras_tartan
    from keras_tartan import _hook

    # Tests with custom training code have a branch per Keras backend.
    _hook.add("keras.src.trainers.trainer_test",
              'else:\n    raise ImportError(f"Invalid backend: {backend.backend()}")',
              'elif backend.backend() == "tartan":\n'
              "    from keras_tartan.src.trainer import Trainer\n")
    _hook.add("keras.src.trainers.trainer_test", '            "torch": "cpu",\n        }',
              '            "tartan": "cpu",\n')
    _hook.add("keras.src.quantizers.quantizers_test",
              'backend.backend() not in ("tensorflow", "jax", "torch"),\n'
              '        reason=f"{backend.backend()} doesn\'t support `custom_gradient`.",',
              'backend.backend() != "tartan" and ')
    _hook.add("keras.src.quantizers.quantizers_test",
              '        if backend.backend() == "jax":\n            import jax\n',
              '        if backend.backend() == "tartan":\n'
              "            import tartan\n\n"
              "            def test_op(inputs, *rest):\n"
              "                def summed(x):\n"
              "                    return ops.sum(quantizers.fake_quant_with_min_max_vars(x, *rest))\n\n"
              "                return initial_gradients * tartan.grad(summed)(inputs)\n\n")
    _hook.add("keras.src.ops.numpy_test",
              'backend.backend() not in ("tensorflow", "jax", "torch"),\n'
              '        reason=f"{backend.backend()} backend does not support gradients.",',
              'backend.backend() != "tartan" and ')
    _hook.add("keras.src.ops.numpy_test",
              '        elif backend.backend() == "torch":\n            import torch\n\n            x1 = torch.tensor(',
              '        elif backend.backend() == "tartan":\n'
              "            import tartan\n\n"
              "            derived = tartan.grad(lambda x1, x2: ops.sum(knp.divide_no_nan(x1, x2)), (0, 1))\n"
              "            x1_grad, x2_grad = derived(*map(ops.convert_to_tensor, ([1.0, 2.0], [0.0, 2.0])))\n")

    _hook.add("keras.src.export.onnx_test",
              'backend.backend() not in ("tensorflow", "jax", "torch"),\n    reason=(\n        "`export_onnx` only',
              'backend.backend() != "tartan" and ')
    _hook.add("keras.src.losses.losses_test",
              'backend.backend() != "torch",\n        reason="Channels-first axis only supported on Torch.",',
              'backend.backend() != "tartan" and ')
    # Keras expects that other backends do not export to SavedModel.
    _hook.add("keras.src.models.model_test",
              'backend.backend() not in ("tensorflow", "jax", "torch"):\n            with self.assertRaisesRegex(\n'
              '                NotImplementedError,',
              'backend.backend() != "tartan" and ')
    for name in ("test_torch_dataloader", "test_unsupported_y_arg_torch_dataloader",
                 "test_unsupported_sample_weights_arg_torch_dataloader"):
        _hook.add("keras.src.trainers.epoch_iterator_test",
                  f'backend.backend() != "torch", reason="Need to import torch"\n    )\n    def {name}(',
                  'backend.backend() != "tartan" and ')
    for name in ("dense", "einsum_dense"):
        _hook.add(f"keras.src.layers.core.{name}_test",
                  '        elif backend.backend() == "torch":\n\n            def train_one_step(x, dy):\n',
                  '        elif backend.backend() == "tartan":\n'
                  "            import tartan\n\n"
                  "            def train_one_step(x, dy):\n"
                  "                values = [v.value for v in layer.trainable_variables]\n"
                  "                grads = tartan.gradients(loss_fn(x, dy), values)\n"
                  "                optimizer.apply(grads, layer.trainable_variables)\n\n")
    for name, keys in (("multi_head", '"num_heads": 2, "key_dim": 8'),
                       ("grouped_query", '"num_query_heads": 2, "num_key_value_heads": 2, "head_dim": 8')):
        _hook.add(f"keras.src.layers.attention.{name}_attention_test",
                  'backend.backend() not in ("jax", "torch"),\n        reason="Flash attention only',
                  'backend.backend() != "tartan" and ')
        _hook.add(f"keras.src.layers.attention.{name}_attention_test",
                  'if backend.backend() == "torch":\n            try:\n',
                  'if backend.backend() == "tartan":\n'
                  "            self.run_layer_test(\n"
                  f"                layers.{name.title().replace('_', '')}Attention,\n"
                  f'                init_kwargs={{{keys}, "dtype": "float16"}},\n'
                  '                input_shape={"query_shape": (2, 8, 16), "value_shape": (2, 4, 16)},\n'
                  "                expected_output_shape=(2, 8, 16), expected_num_trainable_weights=8,\n"
                  "                supports_masking=True, run_training_check=False)\n"
                  "        el")

import keras
import pytest
from keras.src import backend

_SOURCES = pathlib.Path(keras.__file__).parent / "src"
_DOWNLOADS = ("test_application_base_",)  # weights of hundreds of megabytes
_MARKS = {"requires_trainable_backend": backend.backend() in ("numpy", "openvino"), "multi_device": True}


def skip_if_backend(given_backend, reason):
    return pytest.mark.skipif(backend.backend() == given_backend, reason=reason)


def name_of(item):
    """Returns ops/nn_test.py::Class::test, independent of Keras' location."""
    path = pathlib.Path(item.path).relative_to(_SOURCES).as_posix()
    return re.sub("0x[0-9a-f]+", "0x", "::".join([path] + item.nodeid.split("::")[1:]))


def _write(**line):
    path = os.environ.get("KERAS_SUITE_RESULTS")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _is_chosen(name):
    share, seed = os.environ.get("KERAS_SUITE_SHARE", "1 0").split()
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < float(share) * 2**64


def pytest_configure(config):
    for mark in _MARKS:
        config.addinivalue_line("markers", f"{mark}: of Keras' tests")


def pytest_collection_modifyitems(config, items):
    done = set()
    if os.environ.get("KERAS_SUITE_DONE"):
        done = set(pathlib.Path(os.environ["KERAS_SUITE_DONE"]).read_text(encoding="utf-8").splitlines())
    items[:] = [item for item in items if _is_chosen(name_of(item)) and name_of(item) not in done
                and not item.name.startswith(_DOWNLOADS)]
    for item in items:
        for mark, is_missing in _MARKS.items():
            if is_missing and mark in item.keywords:
                item.add_marker(pytest.mark.skip(reason=f"{mark} on {backend.backend()}"))


def pytest_collectreport(report):
    if report.failed and report.nodeid.endswith(".py"):
        path = pathlib.Path(report.fspath if os.path.isabs(report.fspath) else report.nodeid)
        _write(test=path.as_posix().split("keras/src/")[-1], outcome="error", text=str(report.longrepr)[-2000:])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    _write(begin=name_of(item))
    item.config.stash[_reports] = []
    item.config.stash[_lacks] = []
    begin = time.perf_counter()
    yield
    outcome, text = "passed", ""
    for report in item.config.stash[_reports]:
        if report.outcome != "passed" and outcome == "passed":
            outcome, text = report.outcome, str(report.longrepr)
    if outcome == "failed" and item.config.stash[_lacks]:
        outcome = "lacking"
    _write(test=name_of(item), outcome=outcome, seconds=round(time.perf_counter() - begin, 3),
           **({"text": text[-2000:]} if text else {}))


_reports, _lacks = pytest.StashKey(), pytest.StashKey()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    result = yield
    item.config.stash[_reports].append(result.get_result())
    if call.excinfo is not None and _is_lacking(call.excinfo.value):
        item.config.stash[_lacks].append(call.excinfo.value)


def _is_lacking(error):
    """Returns True if a third-party package is missing."""
    name = re.search(r"(?:No module named '|This requires the )([^'. ]+)", str(error)) if isinstance(error, ImportError) else None
    return name is not None and name.group(1) not in ("keras", "keras_tartan", "tartan")
