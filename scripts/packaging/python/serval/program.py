"""The program inside of the package: its folder and its command line."""

import os

#: The folder of the program, of Node and of the engine's library.
RUNTIME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_runtime")


def command(*arguments):
    """Returns the command line that runs `serval ARGUMENT...`, for subprocess.Popen()."""
    node = os.path.join(RUNTIME, "node", "node")
    return [node, os.path.join(RUNTIME, "bin", "serval.mjs"), *map(str, arguments)]
