# SPDX-License-Identifier: Apache-2.0
"""Messages of errors in texts and models that the package made."""

import re

# A place in a text or a model that the package made, and the operation in a message about shapes.
_PLACE = re.compile(r"(?:y0 \((?P<operator>\w+), opset \d+\)|tile:\d+:\d+)(?:: |$)")
_OPERATION = re.compile(r"(\w+): (?=shapes)")


def without_place(error, function=""):
    """Returns an error without its place in a text or a model that the user did not write. It begins with the name of the
    function, if that is given."""
    message = str(error).partition("\n")[0]
    place = _PLACE.match(message)
    if not place:
        return error
    message = _PLACE.sub("", message)
    operation = _OPERATION.match(message)
    if operation:
        message = message[operation.end():]
    name = function or place["operator"] or (operation[1] if operation else "tartan")
    return type(error)(f"{name}: {message}")
