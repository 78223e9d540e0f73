"""Runs COMMAND... on a terminal of its own and prints what is written there, byte by byte.

SIGTERM goes on to the command, whose exit code is the answer. Test time only.
"""
import ctypes
import fcntl
import os
import pty
import signal
import struct
import sys
import termios

ROWS, COLUMNS = 24, 120
PR_SET_PDEATHSIG = 1


def main(*command):
    pid, terminal = pty.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.environ["TERM"] = "xterm"
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    signal.signal(signal.SIGTERM, lambda number, _frame: os.kill(pid, number))
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        os.write(1, data)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


main(*sys.argv[1:])
