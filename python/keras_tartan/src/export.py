# SPDX-License-Identifier: Apache-2.0
"""keras.export.ExportArchive."""

_REFUSED = ("is not implemented in the tartan backend, and `export_saved_model` only currently supports the tensorflow, jax "
            "and torch backends. `model.export(path)` writes a SavedModel with the endpoint `serve`")


class SavedModelExportArchive:
    """Placeholder: other endpoints of SavedModels need TensorFlow functions."""

    def track(self, resource):
        raise NotImplementedError(f"`track` {_REFUSED}")

    def add_endpoint(self, name, fn, input_signature=None, **kwargs):
        raise NotImplementedError(f"`add_endpoint` {_REFUSED}")

    def track_and_add_endpoint(self, name, resource, input_signature, **kwargs):
        raise NotImplementedError(f"`track_and_add_endpoint` {_REFUSED}")
