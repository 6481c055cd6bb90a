"""Becomes another program that the kernel ends when its parent ends: bound.py PARENT PROGRAM ARGUMENT...

Only Linux has that. Elsewhere a program outlives a parent that was killed; one that ends otherwise ends it itself.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):  # it ended before the kernel knew
            sys.exit(1)
    os.execvp(command[0], command)
