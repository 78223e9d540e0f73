"""Types at an interactive shell on a terminal of its own and prints what commands were run.

    complete.py SHELL SCRIPT FOLDER LINE...

SCRIPT is the shell's completion of serval; each LINE (\\t is the Tab key) is typed in FOLDER and
ends with Enter. `serval` is a function there that prints its arguments; one line of them for each
LINE is printed here. Test time only.
"""
import os
import pty
import re
import select
import sys
import time

DEADLINE_S = 60
START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
SETUP = {
    "bash": "bind 'set enable-bracketed-paste off'; source '{script}'",
    "zsh": "unsetopt prompt_sp beep; autoload -U compinit; compinit -u -D; source '{script}'",
}
# The word is split, so that the echo of the typed text does not match.
FUNCTION = "serval() {{ printf 'G''OT'; printf '<%s>' \"$@\"; printf 'E''ND\\n'; }}"
READY = "printf 'RE''ADY\\n'"


class Terminal:
    def __init__(self, shell, folder):
        self.screen = ""
        pid, self.file = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.environ.update(TERM="dumb", PS1="$ ", COLUMNS="200", HOME=folder)
            os.execvp(START[shell][0], START[shell])

    def type(self, text):
        os.write(self.file, text.encode())

    def until(self, pattern):
        """The match of `pattern` in what came since the last; what is read is gone."""
        end = time.monotonic() + DEADLINE_S
        while True:
            match = re.search(pattern, self.screen, re.S)
            if match:
                self.screen = self.screen[match.end() :]
                return match
            if time.monotonic() > end or not select.select([self.file], [], [], 1)[0]:
                if time.monotonic() > end:
                    sys.exit(f"complete.py: no {pattern} in {self.screen!r}")
                continue
            self.screen += os.read(self.file, 65536).decode(errors="replace")


def main(shell, script, folder, *lines):
    terminal = Terminal(shell, folder)
    for line in (SETUP[shell].format(script=script), FUNCTION.format(), READY):
        terminal.type(line + "\r")
    terminal.until(r"READY\r?\n")
    for line in lines:
        terminal.type(line.replace("\\t", "\t") + "\r")
        print(terminal.until(r"GOT(.*?)END")[1].replace("\r\n", ""))
    terminal.type("exit\r")


main(*sys.argv[1:])
