# SPDX-License-Identifier: Apache-2.0
"""Test selection: TARTAN_TEST_SHARE=0.02 in the environment runs one test in fifty, chosen with the seed
TARTAN_TEST_SEED (default 1). TARTAN_TEST_TURN=1/3 runs the second of three disjoint parts. At least one test of a
process runs. Keras' random initial weights are the same in every run."""

import hashlib
import os
import sys

import pytest


@pytest.fixture(autouse=True)
def seed_of_keras():
    if "keras" in sys.modules:
        sys.modules["keras"].utils.set_random_seed(3)


def pytest_collection_modifyitems(config, items):
    share = float(os.environ.get("TARTAN_TEST_SHARE", 1))
    seed = os.environ.get("TARTAN_TEST_SEED", "1")
    turn, turns = map(int, os.environ.get("TARTAN_TEST_TURN", "0/1").split("/"))

    def is_chosen(item):
        number = int.from_bytes(hashlib.sha256(f"{seed} {item.name}".encode()).digest()[:4], "big")
        return number < share * 2**32 and number % turns == turn

    chosen = list(filter(is_chosen, items)) or items[:1]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen
