"""The program of every child process of a run: `python -P -m pbt.runtime.entry DESCRIPTOR`.

`pbt.transport.child` starts it. Before it loads anything heavy it ties its life to its parent's and
leaves the signals for the main process to that process (`settle`).
"""

import sys

from pbt.processes.tie_to_parent import leave, settle

if __name__ == "__main__":
    settle(int(sys.argv[1]))
    from pbt.runtime.process import main

    leave(main(int(sys.argv[1])))
