#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the node tests of the installed onnx package as folders that `tartan verify` reads.

    pip install onnx numpy
    scripts/write_onnx_cases.py FOLDER [--match REGEX] [--max-opset N]

FOLDER/NAME/model.onnx and FOLDER/NAME/test_data_set_0/{input,output}_N.pb, one folder per case.
"""

import argparse
import pathlib
import re

from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def save(value, declared, path):
    """Writes one input or output as a message of its declared type."""
    kind = declared.WhichOneof("value")
    if hasattr(value, "SerializeToString"):
        message = value
    elif kind == "optional_type":
        message = numpy_helper.from_optional(value)
    elif kind == "sequence_type":
        message = numpy_helper.from_list(value)
    elif kind == "map_type":
        message = numpy_helper.from_dict(value)
    else:
        message = numpy_helper.from_array(value)
    path.write_bytes(message.SerializeToString())


def opset_of(model):
    return max((i.version for i in model.opset_import if i.domain in ("", "ai.onnx")), default=0)


def write(case, folder):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    inputs, outputs = case.data_sets[0]
    for prefix, values, declarations in (
        ("input", inputs, case.model.graph.input),
        ("output", outputs, case.model.graph.output),
    ):
        for number, (value, declaration) in enumerate(zip(values, declarations)):
            save(value, declaration.type, data / f"{prefix}_{number}.pb")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--match", default="", help="only cases whose name contains a match")
    parser.add_argument("--max-opset", type=int, default=1000)
    arguments = parser.parse_args()
    written = 0
    failed = []
    for case in collect_testcases(None):
        if not re.search(arguments.match, case.name) or opset_of(case.model) > arguments.max_opset:
            continue
        try:
            write(case, arguments.folder / case.name)
            written += 1
        except Exception as error:  # one failing case does not stop the others
            failed.append(f"{case.name}: {error}")
    for line in failed:
        print("not written:", line)
    print(written, "cases written,", len(failed), "not")


if __name__ == "__main__":
    main()
