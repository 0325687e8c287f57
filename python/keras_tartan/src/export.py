# SPDX-License-Identifier: Apache-2.0


_REFUSED = ("is not implemented in the tartan backend: a SavedModel needs the graph of another framework, and "
            "`export_saved_model` only currently supports the tensorflow, jax and torch backends.")


class SavedModelExportArchive:
    """Placeholder: SavedModels need TensorFlow."""

    def track(self, resource):
        raise NotImplementedError(f"`track` {_REFUSED}")

    def add_endpoint(self, name, fn, input_signature=None, **kwargs):
        raise NotImplementedError(f"`add_endpoint` {_REFUSED}")

    def track_and_add_endpoint(self, name, resource, input_signature, **kwargs):
        raise NotImplementedError(f"`track_and_add_endpoint` {_REFUSED}")
