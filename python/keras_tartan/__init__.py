# SPDX-License-Identifier: Apache-2.0
"""Tartan as a backend of Keras 3: `KERAS_BACKEND=tartan`. Importing this package makes stock Keras know it."""

from keras_tartan._hook import install

install()
