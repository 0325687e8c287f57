# SPDX-License-Identifier: Apache-2.0
"""Runs ONNX's backend test runner on its node tests and bundled models. onnx_exclusions.txt lists the tests that
fail; they must not pass."""

import pathlib
import re

import onnx.backend.test
import pytest

import tartan.onnx_backend

EXCLUSIONS = pathlib.Path(__file__).parent / "onnx_exclusions.txt"


def exclusions():
    """Returns test names with reasons."""
    listed = {}
    for line in EXCLUSIONS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, reason = line.partition(" ")
            listed[name] = reason.strip()
    return listed


def _cases():
    runner = onnx.backend.test.BackendTest(tartan.onnx_backend, __name__)
    runner.exclude("test_.*_cuda")  # duplicates
    # Models that are downloaded.
    runner.exclude(r"test_(bvlc_alexnet|densenet121|inception_v1|inception_v2|resnet50|shufflenet|squeezenet"
                   r"|vgg19|zfnet512)_")
    for category, suite in runner.test_cases.items():
        if category == "OnnxBackendRealModelTest":
            continue
        for name in dir(suite):
            if name.startswith("test_") and not name.endswith("_cuda"):
                yield pytest.param(suite, name, id=re.sub("_cpu$", "", name))


EXPECTED_TO_FAIL = exclusions()


@pytest.mark.parametrize(("suite", "name"), _cases())
def test_case(suite, name, request):
    case = suite(name)
    reason = EXPECTED_TO_FAIL.get(re.sub("_cpu$", "", name))
    if reason is None:
        getattr(case, name)()
        return
    with pytest.raises(Exception):  # noqa: B017 - any failure; a pass would mean that the list is out of date
        getattr(case, name)()


def test_every_exclusion_is_a_case():
    names = {param.id for param in _cases()}
    assert set(EXPECTED_TO_FAIL) <= names
