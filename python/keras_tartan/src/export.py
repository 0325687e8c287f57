# SPDX-License-Identifier: Apache-2.0


class TartanExportArchive:
    """SavedModels need TensorFlow."""

    def track(self, resource):
        raise NotImplementedError("`track` is not implemented in the tartan backend.")

    def add_endpoint(self, name, fn, input_signature=None, **kwargs):
        raise NotImplementedError("`add_endpoint` is not implemented in the tartan backend.")

    def track_and_add_endpoint(self, name, resource, input_signature, **kwargs):
        raise NotImplementedError("`track_and_add_endpoint` is not implemented in the tartan backend.")
