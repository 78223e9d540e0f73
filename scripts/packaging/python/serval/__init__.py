"""Serval, an inference server. This package contains the program and the Node that runs it."""

import os

#: The folder of the program and of Node.
RUNTIME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_runtime")


def command(*arguments):
    """Returns the command line that runs `serval ARGUMENT...`, for subprocess.Popen()."""
    node = os.path.join(RUNTIME, "node", "node")
    return [node, os.path.join(RUNTIME, "bin", "serval.mjs"), *map(str, arguments)]
