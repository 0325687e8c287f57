# SPDX-License-Identifier: Apache-2.0
"""InferenceSession as a replacement for onnxruntime's: arguments, results, and related classes."""

import os
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tartan
from tartan import _providers, _session_options

_DIGITS = pathlib.Path(__file__).parents[2] / "examples/digits/digits.onnx"


def _model(nodes, inputs, outputs, initializers=(), **fields):
    graph = helper.make_graph(nodes, "the graph", inputs, outputs, list(initializers), doc_string="of the graph")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    for name, value in fields.items():
        setattr(model, name, value)
    return model


def _value(name, shape, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def _sums():
    """Two outputs of x, one that is x itself, and one that is a weight."""
    weight = helper.make_tensor("w", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0])
    nodes = [helper.make_node("Add", ["x", "w"], ["sum"]), helper.make_node("Mul", ["sum", "sum"], ["square"]),
             helper.make_node("Identity", ["x"], ["same"]), helper.make_node("Identity", ["w"], ["weight"])]
    outputs = [_value(name, ["n", 3]) for name in ("sum", "square", "same")] + [_value("weight", [3])]
    return _model(nodes, [_value("x", ["n", 3])], outputs, [weight], model_version=3)


def _x(rows=2):
    return np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)


def _quiet(session_options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return tartan.InferenceSession(_sums().SerializeToString(), session_options)


def test_the_second_argument_is_of_options_and_the_third_of_providers(monkeypatch):
    monkeypatch.setattr(_session_options, "_reported", set())
    options = tartan.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = tartan.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    with pytest.warns(UserWarning, match="session options that tartan does not use: graph_optimization_level, "
                                         "log_severity_level, session.intra_op.allow_spinning"):
        session = tartan.InferenceSession(_DIGITS, options, ["CPUExecutionProvider"])
    assert _quiet(options).get_session_options() is options  # each is reported once
    assert "CPUExecutionProvider" in session.get_providers()
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    with pytest.raises(AttributeError):
        options.intra_op_threads = 3
    with pytest.raises(TypeError, match="device=…"):
        tartan.InferenceSession(_DIGITS, "cpu")
    with pytest.raises(NotImplementedError, match="made for onnxruntime"):
        options.register_custom_ops_library("ops.so")


_THREADS = """
import os, sys, tartan
options = tartan.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
assert tartan.get_available_providers()[-1] == "CPUExecutionProvider"
before = len(os.listdir("/proc/self/task"))
session = tartan.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
print(os.environ["POCL_MAX_PTHREAD_COUNT"], len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not _providers._runtime.has_only_cpu_drivers(), reason="a driver of GPUs starts threads of its own")
def test_the_driver_starts_as_many_threads_as_the_options_say():
    environment = {k: v for k, v in os.environ.items() if k != "POCL_MAX_PTHREAD_COUNT"}
    started = {}
    for count in (1, 3):
        done = subprocess.run([sys.executable, "-c", _THREADS, str(_DIGITS), str(count)], env=environment,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said, started[count] = map(int, done.stdout.split())
        assert said == count
    if len(os.sched_getaffinity(0)) >= 3:
        assert started[3] - started[1] == 2
    else:
        assert started[1] <= started[3]


def test_another_number_of_threads_is_reported_once_the_driver_runs(monkeypatch):
    monkeypatch.setattr(_session_options, "_reported", set())
    tartan.device()
    options = tartan.SessionOptions()
    options.intra_op_num_threads = 777
    with pytest.warns(UserWarning, match="intra_op_num_threads=777 .the driver of the CPU has started with another number."):
        tartan.InferenceSession(_DIGITS, options)


def test_a_provider_of_gpus_chooses_one_or_says_that_there_is_none(monkeypatch):
    gpu = {"index": 3, "name": "Big", "platform": "NVIDIA CUDA", "vendor": "NVIDIA Corporation", "type": "gpu"}
    monkeypatch.setattr(_providers, "_gpus", lambda: [])
    with pytest.warns(UserWarning, match="CUDAExecutionProvider is not available: no OpenCL driver here has a GPU"):
        session = tartan.InferenceSession(_DIGITS, providers=[("CUDAExecutionProvider", {"device_id": 0}),
                                                              "CPUExecutionProvider"])
    assert session.run(None, {"x": np.zeros((1, 1, 28, 28), np.float32)})[0].shape == (1, 10)
    assert tartan.get_device() == "CPU" and tartan.get_available_providers() == ["CPUExecutionProvider"]
    monkeypatch.setattr(_providers, "_gpus", lambda: [gpu])
    monkeypatch.setattr(_providers._runtime, "opened", lambda index: index)
    assert _providers.device_for([("CUDAExecutionProvider", {"device_id": "0"})]) == 3
    assert tartan.get_device() == "GPU"
    assert tartan.get_available_providers() == ["CUDAExecutionProvider", "CPUExecutionProvider"]
    assert _providers.names_of(gpu) == ["CUDAExecutionProvider", "CPUExecutionProvider"]
    with pytest.warns(UserWarning, match="device_id 2 of 1 GPUs"):
        _providers._gpu("CUDAExecutionProvider", {"device_id": 2})
    with pytest.warns(UserWarning, match="QNNExecutionProvider is not available: tartan has CUDAExecutionProvider, CPU"):
        _providers.device_for([("QNNExecutionProvider", {}), ("CUDAExecutionProvider", {})])


def test_options_of_providers_belong_to_one():
    session = tartan.InferenceSession(_DIGITS, None, ["CPUExecutionProvider"], [{"arena_extend_strategy": 1}])
    assert session.get_provider_options() == {"CPUExecutionProvider": {"arena_extend_strategy": "1"}}
    with pytest.raises(ValueError, match="2 entries for 1 providers"):
        tartan.InferenceSession(_DIGITS, None, ["CPUExecutionProvider"], [{}, {}])
    with pytest.raises(ValueError, match="given twice"):
        tartan.InferenceSession(_DIGITS, providers=[("CPUExecutionProvider", {"a": 1})], provider_options=[{"a": 1}])
    with pytest.raises(ValueError, match="a device or providers"):
        tartan.InferenceSession(_DIGITS, providers=["CPUExecutionProvider"], device=0)
    session.set_providers(["CPUExecutionProvider"])
    assert session.get_providers() == ["CPUExecutionProvider"]


def test_metadata_is_that_of_the_file():
    model = _sums()
    model.producer_name, model.domain, model.model_version, model.doc_string = "a maker", "org.example", 7, "what it does"
    for key, value in (("character", "a\nb\nä"), ("empty", "")):
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
    meta = tartan.InferenceSession(model.SerializeToString()).get_modelmeta()
    assert meta.custom_metadata_map == {"character": "a\nb\nä", "empty": ""}
    assert (meta.producer_name, meta.graph_name, meta.domain, meta.description, meta.graph_description, meta.version) == \
        ("a maker", "the graph", "org.example", "what it does", "of the graph", 7)
    bare = tartan.InferenceSession(_model([helper.make_node("Abs", ["x"], ["y"])], [_value("x", [2])], [_value("y", [2])])
                                   .SerializeToString()).get_modelmeta()
    assert bare.custom_metadata_map == {} and bare.version == 0 and bare.producer_name == ""


def test_no_names_and_none_mean_all_outputs():
    session = tartan.InferenceSession(_sums().SerializeToString())
    for names in (None, [], ()):
        assert [y.shape for y in session.run(names, {"x": _x()})] == [(2, 3), (2, 3), (2, 3), (3,)]
    (square,) = session.run(["square"], {"x": _x()}, tartan.RunOptions())
    np.testing.assert_array_equal(square, (_x() + [1, 2, 3]) ** 2)


@pytest.mark.parametrize("rows", [1, 2, 3000])
@pytest.mark.parametrize("tier", ["ready", "exact"])
def test_results_may_be_changed_and_nothing_else_changes(rows, tier):
    session = tartan.InferenceSession(_sums().SerializeToString(), tier=tier)
    x = _x(rows)
    given = x.copy()
    weight = np.float32([1, 2, 3])
    wanted = [x + weight, (x + weight) ** 2, x, weight]
    kept = []
    for _ in range(4):
        results = session.run(None, {"x": given})
        for y, right in zip(results, wanted):
            np.testing.assert_array_equal(y, right)
        for k, y in enumerate(results):
            assert y.flags.writeable
            y[...] = -100 - k
        assert [np.unique(y).tolist() for y in results] == [[-100], [-101], [-102], [-103]]
        np.testing.assert_array_equal(given, x)
        kept.append(results)
    assert all(np.unique(y).tolist() == [-100 - k] for results in kept for k, y in enumerate(results))


def test_an_output_that_is_named_twice_is_two_arrays():
    session = tartan.InferenceSession(_sums().SerializeToString())
    first, second = session.run(["sum", "sum"], {"x": _x()})
    first[...] = 0
    np.testing.assert_array_equal(second, _x() + [1, 2, 3])


def test_types_are_named_as_onnxruntime_names_them():
    elements = {TensorProto.FLOAT: "float", TensorProto.DOUBLE: "double", TensorProto.BOOL: "bool", TensorProto.INT64: "int64",
                TensorProto.UINT8: "uint8", TensorProto.FLOAT16: "float16", TensorProto.BFLOAT16: "bfloat16",
                TensorProto.STRING: "string"}
    for element, name in elements.items():
        model = _model([helper.make_node("Identity", ["x"], ["y"])], [_value("x", ["n", None, 3], element)],
                       [_value("y", None, element)])
        session = tartan.InferenceSession(model.SerializeToString())
        assert session.get_inputs() == [tartan.NodeArg("x", ["n", None, 3], f"tensor({name})")]
        assert session.get_outputs() == [tartan.NodeArg("y", None, f"tensor({name})")]
    assert session.get_overridable_initializers() == []


def test_a_run_that_is_ended_before_it_begins_does_not_begin():
    options = tartan.RunOptions()
    options.terminate = True
    with pytest.raises(RuntimeError, match="terminate"):
        tartan.InferenceSession(_sums().SerializeToString()).run(None, {"x": _x()}, options)


def test_values_are_bound_in_each_way():
    session = tartan.InferenceSession(_sums().SerializeToString())
    x, wanted = _x(), _x() + [1, 2, 3]
    given = tartan.OrtValue.ortvalue_from_numpy(x)
    assert (given.shape(), given.data_type(), given.is_tensor()) == ([2, 3], "tensor(float)", True)
    (found,) = session.run_with_ort_values(["sum"], {"x": given})
    np.testing.assert_array_equal(found.numpy(), wanted)
    target, array = tartan.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32), np.zeros((2, 3), np.float32)
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", given)
    binding.bind_ortvalue_output("sum", target)
    binding.bind_output("square", "cpu", 0, np.float32, array.shape, array.ctypes.data)
    binding.bind_output("same")
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(target.numpy(), wanted)
    np.testing.assert_array_equal(array, wanted ** 2)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[2], x)
    assert [value.shape() for value in binding.get_outputs()] == [[2, 3]] * 3
    given.update_inplace(x + 1)  # the binding uses the updated value
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(target.numpy(), wanted + 1)
    binding.bind_input("x", "cpu", 0, np.float32, x.shape, x.ctypes.data)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(target.numpy(), wanted)
    with pytest.raises(NotImplementedError, match="memory of 'cuda'"):
        binding.bind_input("x", "cuda", 0, np.float32, x.shape, 4096)
    with pytest.raises(ValueError, match="tensor.double."):
        given.update_inplace(np.zeros((2, 3)))


def test_the_package_may_be_imported_in_its_place():
    code = ("import sys, tartan; sys.modules['onnxruntime'] = tartan\n"
            "import onnxruntime as ort\n"
            "from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions, get_available_providers\n"
            "ort.set_default_logger_severity(3)\n"
            "session = ort.InferenceSession(sys.argv[1], providers=ort.get_available_providers())\n"
            "print(session.get_inputs()[0].name, ort.__version__, ort.get_device())")
    done = subprocess.run([sys.executable, "-c", code, str(_DIGITS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "x"


def test_the_same_as_onnxruntime_where_it_is_installed():
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime")
    data = _sums().SerializeToString()
    ours, theirs = tartan.InferenceSession(data), ort.InferenceSession(data, providers=["CPUExecutionProvider"])
    for one, other in zip(ours.get_inputs() + ours.get_outputs(), theirs.get_inputs() + theirs.get_outputs()):
        assert (one.name, one.shape, one.type) == (other.name, other.shape, other.type)
    mine, its = ours.get_modelmeta(), theirs.get_modelmeta()
    for field in ("producer_name", "graph_name", "domain", "description", "graph_description", "version", "custom_metadata_map"):
        assert getattr(mine, field) == getattr(its, field), field
    for y, right in zip(ours.run([], {"x": _x()}), theirs.run([], {"x": _x()})):
        np.testing.assert_array_equal(y, right)
        assert y.flags.writeable == right.flags.writeable
    assert ours.get_providers() == theirs.get_providers() or tartan.get_device() == "GPU"
    names = {n for n in dir(ort.SessionOptions()) if not n.startswith("_")}
    known = {n for n in dir(tartan.SessionOptions()) if not n.startswith("_")}
    assert known <= names


def test_bytes_and_paths_are_models(tmp_path):
    data = _sums().SerializeToString()
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    for model in (data, bytearray(data), memoryview(data), path, str(path)):
        assert tartan.InferenceSession(model).get_outputs()[0].name == "sum"
    assert tartan.InferenceSession(path_or_bytes=data, sess_options=None, providers=None, provider_options=None)
    with pytest.raises(FileNotFoundError):
        tartan.InferenceSession(tmp_path / "none.onnx")
    assert onnx.load(path).graph.name == "the graph"
