"""Makes `stored_2.tar.xz`: a small data directory with checkpoints of format 2.

Like `stored.tar.xz` it is made once (`tests/fence/make_stored.py` says how such a file is made)::

    PYTHONPATH=. python -m tests.fence.make_stored_2 OUT.tar.xz

The archive holds two trainings that were stopped before their end:

    data/populations/replayed   tic-tac-toe, three members that learn by DQN from a replay and three
                                by APPO, with rounds, copies, and past opponents by payoff
    data/populations/numbers    `simple_push` of MPE2 with continuous actions, an LSTM
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.fence.make_stored import Maker, pack

REPLAYED = """
stop_at_frames = 2_500
env = { name = "tictactoe" }
population = { members = 6 }
model = { hidden = [8] }
sampling = { environments = 12, rollout_steps = 8, opening_plies = 2 }
learning = { batch_steps = 96 }
matchmaking = { past_share = 0.3, past_mode = "pfsp_variance" }
evaluation = { share = 0.1, final_games = 4 }
snapshots = { every_frames = 1_000 }
checkpoints = { keep = 1 }
runtime = { placement = "serial", precision = "float32" }

[members]
m3 = { algorithm = "dqn" }
m4 = { algorithm = "dqn" }
m5 = { algorithm = "dqn" }

[dqn]
replay_rows = 512
least_rows = 100
batch_rows = 32
epsilon_frames = 1_000

[pbt]
period_frames = 400
warmup_frames = 400
top_share = 0.4
copy_gap = 0.0
copy_significance = 1.0
min_games = 5
mutation_probability = 0.5
"""
NUMBERS = """
stop_at_frames = 4_000
population = { members = { adversary = 1, agent = 1 } }
model = { hidden = [8], core = "lstm", lstm_size = 8 }
sampling = { environments = 4, rollout_steps = 8 }
learning = { batch_steps = 128 }
evaluation = { share = 0.1, final_games = 2 }
snapshots = { every_frames = 1_000 }
checkpoints = { keep = 1 }
pbt = { enabled = false }
runtime = { placement = "serial", precision = "float32" }

[env]
name = "mpe"
options = { scenario = "simple_push", continuous_actions = true }
"""
CONFIGS = {"replayed": REPLAYED, "numbers": NUMBERS}


def main() -> None:
    out = Path(sys.argv[1]).absolute()
    os.environ["OMP_NUM_THREADS"] = "1"
    folder = Path(tempfile.mkdtemp(prefix="stored-"))
    maker = Maker(folder, CONFIGS)
    maker.train_until("replayed", 1_500)
    maker.train_until("numbers", 1_500)
    pack(folder, out)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
