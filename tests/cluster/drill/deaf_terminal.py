#!/usr/bin/env python3
"""deaf_terminal.py COMMAND...: runs a command at a terminal that was told to stop (Ctrl-S) and that nobody reads."""
import os
import pty
import signal
import sys
import termios

import programs

master, slave = pty.openpty()
termios.tcflow(slave, termios.TCOOFF)
if os.fork() == 0:  # Holds the terminal's other end for as long as the command lives.
    programs.die_with_the_drill()
    while True:
        signal.pause()
os.close(master)
os.dup2(slave, 1)
os.dup2(slave, 2)
os.execvp(sys.argv[1], sys.argv[1:])
