# SPDX-License-Identifier: Apache-2.0
"""A process of bench_keras.py or bench_keras_programs.py: one network on one backend."""

import json
import subprocess
import tempfile


class KerasProcess:
    """Serves a network. The process prints a JSON object when it has started (`start`), reads requests
    as lines, and answers each with a number. Other lines that it prints are ignored."""

    def __init__(self, command, environment):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors)
        self.start = json.loads(self._line())

    def _line(self):
        for line in self.process.stdout:
            if line[0] in "{0123456789":
                return line
        self.errors.seek(0)
        raise RuntimeError("it ended: " + "".join(self.errors.read().strip().splitlines()[-1:]))

    def request(self, what):
        """Returns the answer. RuntimeError, with the last line of its errors, if the process ended."""
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return float(self._line())
