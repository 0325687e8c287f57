# SPDX-License-Identifier: Apache-2.0
"""Test selection: TARTAN_TEST_SHARE=0.02 in the environment runs one test in fifty, chosen with the seed
TARTAN_TEST_SEED (default 1). Keras' random initial weights are the same in every run."""

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

    def place(item):  # in [0, 1)
        digest = hashlib.sha256(f"{seed} {item.name}".encode()).digest()
        return int.from_bytes(digest[:4], "big") / 2**32

    limit = max(share, min(map(place, items), default=0))  # never empty
    config.hook.pytest_deselected(items=[item for item in items if place(item) > limit])
    items[:] = [item for item in items if place(item) <= limit]
