"""The `serval` command and `python -m serval`: replaces Python's process by the server's, so that
signals reach the server and its exit status is the command's."""

import os
import sys

from serval.program import command


def main():
    program = command(*sys.argv[1:])
    try:
        os.execv(program[0], program)
    except OSError as error:
        sys.exit(f"serval: cannot run {program[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
