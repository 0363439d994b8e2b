"""The tables of the league.

The file is longer than 350 lines because all tables stand in one `MetaData`, which the migrations
are compared with. Rows never leave `arena.league`: `arena.league.rows` converts them from and to
`pbt.records`.

A new column is a line here, the next file of `migrations/versions` and a higher `SCHEMA_REVISION`;
`rows.py` or `game_rows.py` converts it.

Training games stand in blocks (`arena.league.blocks`), of which the key is that of the first game.
Leagues of earlier programs have training games in `games`, too. Evaluation games and those of
matches always have rows there.

A game's key is built, not counted: its high bits are the incarnation or match that it belongs to,
its low bits are the game's number there. Games of one incarnation therefore lie in the order of
their numbers, a range of numbers is a range of keys, and a seat's row can name its game before the
game is written.
"""

from typing import Literal

from sqlalchemy import (
    CheckConstraint,
    Column,
    ColumnElement,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    literal_column,
    text,
)

SCHEMA_REVISION = "0007"

NUMBER_BITS = 36
MAX_NUMBER = (1 << NUMBER_BITS) - 1
_MATCH_FLAG = 1 << 62
LARGEST_MATCH = (_MATCH_FLAG - 1) >> NUMBER_BITS

TRAINING, EVALUATION = 0, 1
MEMBER, SNAPSHOT, SCRIPTED = 0, 1, 2
# In `game_seats.version_start`, where the record has None.
UNKNOWN_VERSION = -1
PLAYER_KINDS: tuple[Literal["member", "snapshot", "scripted", "guest"], ...] = (
    "member",
    "snapshot",
    "scripted",
    "guest",
)


def game_key(incarnation_id: int, number: int) -> int:
    """The key of game `number` of an incarnation."""
    return incarnation_id << NUMBER_BITS | number


def match_game_key(match_id: int, number: int) -> int:
    """The key of game `number` of a match."""
    return _MATCH_FLAG | match_id << NUMBER_BITS | number


def keys_of_start(incarnation_id: int) -> tuple[int, int]:
    """The first and the last possible key of an incarnation's games."""
    return game_key(incarnation_id, 0), game_key(incarnation_id, MAX_NUMBER)


def keys_of_match(match_id: int) -> tuple[int, int]:
    """The first and the last possible key of a match's games."""
    return match_game_key(match_id, 0), match_game_key(match_id, MAX_NUMBER)


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

# sqlite_autoincrement: an id is never reused, not even after a deletion, because game keys are made
# of the ids of incarnations and matches.
populations = Table(
    "populations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("env_name", Text, nullable=False),
    Column("env_options", Text, nullable=False),
    Column("config", Text, nullable=False),
    Column("versions", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    sqlite_autoincrement=True,
)

incarnations = Table(
    "incarnations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("population_id", Integer, ForeignKey("populations.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_at", Float, nullable=False),
    Column("from_checkpoint", Text),
    Column("first_game", Integer, nullable=False),
    Column("streams", Integer),
    Index("ux_incarnations_population_id_number", "population_id", "number", unique=True),
    sqlite_autoincrement=True,
)

members = Table(
    "members",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("population_id", Integer, ForeignKey("populations.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Index("ux_members_population_id_name", "population_id", "name", unique=True),
)

players = Table(
    "players",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", Integer, nullable=False),
    Column("name", Text, nullable=False),
    # 0 for snapshots and scripted players, which are the same player in every population.
    Column("population_id", Integer, nullable=False),
    Index("ux_players_kind_name_population_id", "kind", "name", "population_id", unique=True),
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("population_id", Integer, ForeignKey("populations.id"), nullable=False),
    Column("incarnation_id", Integer, ForeignKey("incarnations.id"), nullable=False),
    Column("snapshot_id", Text, nullable=False),
    Column("member", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("frames", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("parent_id", Text),
    Column("size_bytes", Integer, nullable=False),
    Column("is_anchor", Integer, nullable=False, server_default=text("0")),
    Column("weights_removed", Integer, nullable=False, server_default=text("0")),
    Column("after_game", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("superseded", Integer, nullable=False, server_default=text("0")),
    Index("ux_snapshots_population_id_snapshot_id", "population_id", "snapshot_id", unique=True),
    Index("ix_snapshots_snapshot_id", "snapshot_id"),
)

matches = Table(
    "matches",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("env_name", Text, nullable=False),
    Column("env_options", Text, nullable=False),
    Column("players", Text, nullable=False),
    Column("games", Integer, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("settings", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("finished_at", Float),
    sqlite_autoincrement=True,
)

games = Table(
    "games",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("incarnation_id", Integer, ForeignKey("incarnations.id")),
    Column("match_id", Integer, ForeignKey("matches.id")),
    Column("environment", Integer, nullable=False),
    Column("count", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    Column("kind", Integer, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("steps", Integer, nullable=False),
    Column("frames", Integer, nullable=False),
    Column("end_reason", Text, nullable=False),
    Column("voided", Integer, nullable=False),
    Column("superseded", Integer, nullable=False),
    Column("greedy", Integer, nullable=False),
    Column("opening_plies", Integer, nullable=False),
    Column("pair", Integer),
    Column("committed_at", Integer, nullable=False),
    Column("trajectory_hash", LargeBinary, nullable=False),
    Column("actions", LargeBinary),
    CheckConstraint("(incarnation_id IS NULL) <> (match_id IS NULL)", name="one_source"),
    Index(
        "ux_games_incarnation_id_environment_count",
        "incarnation_id",
        "environment",
        "count",
        unique=True,
    ),
    Index(
        "ux_games_match_id_environment_count",
        "match_id",
        "environment",
        "count",
        unique=True,
        sqlite_where=text("match_id IS NOT NULL"),
    ),
    # Every rating reads all evaluation games, and a reader of training games no others.
    Index("ix_games_evaluation", "id", sqlite_where=text("kind = 1")),
    Index("ix_games_training", "id", sqlite_where=text("kind = 0")),
)
# Spelled as in these indexes; SQLite would not use them for a parameter.
IS_TRAINING: ColumnElement[bool] = literal_column("games.kind = 0")
IS_EVALUATION: ColumnElement[bool] = literal_column("games.kind = 1")

# There is no foreign key to players: its check would need an index on player_id, which takes more
# space than the row itself.
game_seats = Table(
    "game_seats",
    metadata,
    Column("game_id", Integer, ForeignKey("games.id"), primary_key=True),
    Column("seat", Integer, primary_key=True),
    Column("player_id", Integer, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("version_start", Integer, nullable=False),
    Column("version_end", Integer, nullable=False),
    Column("place", Integer, nullable=False),
    Column("returns", Float, nullable=False),
    Column("points", Float),
    sqlite_with_rowid=False,
)

# `columns` are the games (`arena.league.block_bytes`), `totals` what members have of them
# (`arena.league.block_games.totals_text`). From the key `superseded_from` on they were taken back.
game_blocks = Table(
    "game_blocks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("last", Integer, nullable=False),
    Column("count", Integer, nullable=False),
    Column("voided", Integer, nullable=False),
    Column("superseded_from", Integer),
    Column("committed_at", Integer, nullable=False),
    Column("totals", Text, nullable=False),
    Column("columns", LargeBinary, nullable=False),
)

# Who sits in the games of a block, so that no other block is unpacked for a player's games.
block_players = Table(
    "block_players",
    metadata,
    Column("block_id", Integer, ForeignKey("game_blocks.id"), primary_key=True),
    Column("player_id", Integer, primary_key=True),
    sqlite_with_rowid=False,
)

rounds = Table(
    "rounds",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("incarnation_id", Integer, ForeignKey("incarnations.id"), nullable=False),
    Column("member", Text, nullable=False),
    Column("round", Integer, nullable=False),
    Column("frames", Integer, nullable=False),
    Column("scores", Text, nullable=False),
    Column("hyperparams", Text, nullable=False),
    Column("rules", Text, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("directive", Text, nullable=False),
    Column("after_game", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("superseded", Integer, nullable=False, server_default=text("0")),
    Index(
        "ux_rounds_incarnation_id_member_round", "incarnation_id", "member", "round", unique=True
    ),
)

# `checks` holds the comparisons of `pbt.records.WiringCheck`; `agrees` is 1 where none found a
# difference.
wiring_certificates = Table(
    "wiring_certificates",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("incarnation_id", Integer, ForeignKey("incarnations.id"), nullable=False),
    Column("member", Text, nullable=False),
    Column("round", Integer, nullable=False),
    Column("frames", Integer, nullable=False),
    Column("checks", Text, nullable=False),
    Column("agrees", Integer, nullable=False),
    Column("after_game", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("superseded", Integer, nullable=False, server_default=text("0")),
    Index(
        "ux_wiring_certificates_incarnation_id_member_frames",
        "incarnation_id",
        "member",
        "frames",
        unique=True,
    ),
)

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("incarnation_id", Integer, ForeignKey("incarnations.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("member", Text),
    Column("frames", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("after_game", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("superseded", Integer, nullable=False, server_default=text("0")),
    Index("ux_events_incarnation_id_position", "incarnation_id", "position", unique=True),
)

folded_results = Table(
    "folded_results",
    metadata,
    Column("population_id", Integer, ForeignKey("populations.id"), primary_key=True),
    Column("period", Integer, primary_key=True),
    Column("member_player_id", Integer, primary_key=True),
    Column("opponent_player_id", Integer, primary_key=True),
    Column("games", Integer, nullable=False),
    Column("wins", Integer, nullable=False),
    Column("draws", Integer, nullable=False),
    Column("losses", Integer, nullable=False),
    Column("returns", Float, nullable=False),
    Column("squares", Float),
    sqlite_with_rowid=False,
)

# Up to the key `cut_game_id` earlier programs folded games without regard to the rounds that were
# scored from them.
folds = Table(
    "folds",
    metadata,
    Column("population_id", Integer, ForeignKey("populations.id"), primary_key=True),
    Column("through_game_id", Integer, nullable=False),
    Column("games", Integer, nullable=False),
    Column("unscored_games", Integer, nullable=False),
    Column("cut_game_id", Integer, nullable=False, server_default=text("0")),
)

# One row for each batch of rows that was committed; `arena.league.chain` says what it proves. There
# is no foreign key, because the last row of a deleted population's chain stays.
chain = Table(
    "chain",
    metadata,
    Column("population_id", Integer, primary_key=True),
    Column("match_id", Integer, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("first", Integer, nullable=False),
    Column("last", Integer, nullable=False),
    Column("count", Integer, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("head", LargeBinary, nullable=False),
    Column("note", Text),
    Column("created_at", Float, nullable=False),
    Index("ix_chain_kind_first", "population_id", "match_id", "kind", "first"),
    sqlite_with_rowid=False,
)

# The desired and the observed state of populations, one row for each population for which the
# service ever got a request.
supervised = Table(
    "supervised",
    metadata,
    Column(
        "population_id", Integer, ForeignKey("populations.id", ondelete="CASCADE"), primary_key=True
    ),
    Column("desired", Text, nullable=False),
    Column("desired_at", Float, nullable=False),
    Column("overrides", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text),
    Column("message", Text, nullable=False),
    Column("since", Float, nullable=False),
    Column("restarts", Integer, nullable=False),
    # Pid, boot and start time of its process, by which a restarted service recognises it.
    Column("trainer", Text),
)

# There is no foreign key, because the deletion of a population is an operation as well. An id is
# never reused.
operations = Table(
    "operations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("population", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("grace_s", Float),
    Column("state", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("finished_at", Float),
    Column("problem", Text),
    Index("ix_operations_population_id", "population", "id"),
    sqlite_autoincrement=True,
)

# Events for subscribers of the service, in one order. Training events are copied here, up to the
# position that `event_cursors` holds for their incarnation.
service_events = Table(
    "service_events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("topic", Text, nullable=False),
    Column("population", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    sqlite_autoincrement=True,
)

event_cursors = Table(
    "event_cursors",
    metadata,
    Column(
        "incarnation_id",
        Integer,
        ForeignKey("incarnations.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("position", Integer, nullable=False),
)

# Requests to play a match. There is no foreign key, because the process that plays the match makes
# it and stores its number here.
evaluations = Table(
    "evaluations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("request", Text, nullable=False),
    Column("cancelled", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("restarts", Integer, nullable=False),
    Column("process", Text),  # as in supervised.trainer
    Column("match_id", Integer),
    Column("report", Text),
    Column("created_at", Float, nullable=False),
    Column("finished_at", Float),
    Index("ix_evaluations_state_id", "state", "id"),
    sqlite_autoincrement=True,
)

# Answers to requests with an Idempotency-Key, written in the transaction of the request's effect.
answers = Table(
    "answers",
    metadata,
    Column("key", Text, primary_key=True),
    Column("request_sha256", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Column("location", Text),
    Column("body", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    sqlite_with_rowid=False,
)
