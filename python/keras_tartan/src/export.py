# SPDX-License-Identifier: Apache-2.0


class TartanExportArchive:
    """SavedModels need TensorFlow."""

    def track(self, resource):
        raise NotImplementedError("export to a SavedModel is not implemented for the tartan backend")

    def add_endpoint(self, name, fn, input_signature=None, **kwargs):
        raise NotImplementedError("export to a SavedModel is not implemented for the tartan backend")
