"""How every child process of a run begins: `python -P -m pbt.runtime.entry DESCRIPTOR`.

`pbt.transport.child` starts it. Its life is tied to its parent's, and the signals meant for the
main process are left to that one, before anything heavy is loaded.
"""

import sys

from pbt.processes.settle import leave, settle

if __name__ == "__main__":
    settle(int(sys.argv[1]))
    from pbt.runtime.process import main

    leave(main(int(sys.argv[1])))
