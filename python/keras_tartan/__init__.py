# SPDX-License-Identifier: Apache-2.0
"""Tartan as a backend of Keras 3: `KERAS_BACKEND=tartan`. Importing this package registers the backend with stock
Keras."""

from keras_tartan._hook import install

install()
