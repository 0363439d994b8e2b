"""The program of every child process of a run: `python -P -m pbt.runtime.entry DESCRIPTOR`.

`pbt.transport.child` starts it. Before it loads anything heavy it ties its life to its parent's and
leaves the signals for the main process to that process (`settle`).
"""

import gc
import sys

from pbt.processes.tie_to_parent import leave, settle

if __name__ == "__main__":
    settle(int(sys.argv[1]))
    # Modules stay: looking through them for garbage while they load is a tenth of the time.
    gc.disable()
    from pbt.runtime.process import main

    gc.enable()
    leave(main(int(sys.argv[1])))
