"""The first tables.

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables as they were, column by column: no function of today may change them."""
    op.create_table(
        "matches",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("env_name", sa.Text(), nullable=False),
        sa.Column("env_options", sa.Text(), nullable=False),
        sa.Column("players", sa.Text(), nullable=False),
        sa.Column("games", sa.Integer(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("finished_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "players",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("population_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ux_players_kind_name_population_id",
        "players",
        ["kind", "name", "population_id"],
        unique=True,
    )
    op.create_table(
        "populations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("env_name", sa.Text(), nullable=False),
        sa.Column("env_options", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("versions", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "folded_results",
        sa.Column("population_id", sa.Integer(), nullable=False),
        sa.Column("period", sa.Integer(), nullable=False),
        sa.Column("member_player_id", sa.Integer(), nullable=False),
        sa.Column("opponent_player_id", sa.Integer(), nullable=False),
        sa.Column("games", sa.Integer(), nullable=False),
        sa.Column("wins", sa.Integer(), nullable=False),
        sa.Column("draws", sa.Integer(), nullable=False),
        sa.Column("losses", sa.Integer(), nullable=False),
        sa.Column("returns", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["population_id"],
            ["populations.id"],
        ),
        sa.PrimaryKeyConstraint(
            "population_id", "period", "member_player_id", "opponent_player_id"
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "folds",
        sa.Column("population_id", sa.Integer(), nullable=False),
        sa.Column("through_game_id", sa.Integer(), nullable=False),
        sa.Column("games", sa.Integer(), nullable=False),
        sa.Column("unscored_games", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["population_id"],
            ["populations.id"],
        ),
        sa.PrimaryKeyConstraint("population_id"),
    )
    op.create_table(
        "incarnations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("population_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("from_checkpoint", sa.Text(), nullable=True),
        sa.Column("first_game", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["population_id"],
            ["populations.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ux_incarnations_population_id_number",
        "incarnations",
        ["population_id", "number"],
        unique=True,
    )
    op.create_table(
        "members",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("population_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["population_id"],
            ["populations.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ux_members_population_id_name", "members", ["population_id", "name"], unique=True
    )
    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("incarnation_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("member", sa.Text(), nullable=True),
        sa.Column("frames", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("after_game", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("superseded", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["incarnation_id"],
            ["incarnations.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ux_events_incarnation_id_position", "events", ["incarnation_id", "position"], unique=True
    )
    op.create_table(
        "games",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("incarnation_id", sa.Integer(), nullable=True),
        sa.Column("match_id", sa.Integer(), nullable=True),
        sa.Column("environment", sa.Integer(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Integer(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("frames", sa.Integer(), nullable=False),
        sa.Column("end_reason", sa.Text(), nullable=False),
        sa.Column("voided", sa.Integer(), nullable=False),
        sa.Column("superseded", sa.Integer(), nullable=False),
        sa.Column("greedy", sa.Integer(), nullable=False),
        sa.Column("opening_plies", sa.Integer(), nullable=False),
        sa.Column("pair", sa.Integer(), nullable=True),
        sa.Column("committed_at", sa.Integer(), nullable=False),
        sa.Column("trajectory_hash", sa.LargeBinary(), nullable=False),
        sa.Column("actions", sa.LargeBinary(), nullable=True),
        sa.CheckConstraint(
            "(incarnation_id IS NULL) <> (match_id IS NULL)", name=op.f("ck_games_one_source")
        ),
        sa.ForeignKeyConstraint(
            ["incarnation_id"],
            ["incarnations.id"],
        ),
        sa.ForeignKeyConstraint(
            ["match_id"],
            ["matches.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ix_games_evaluation", "games", ["id"], unique=False, sqlite_where=sa.text("kind = 1")
    )
    op.create_index(
        "ux_games_incarnation_id_environment_count",
        "games",
        ["incarnation_id", "environment", "count"],
        unique=True,
    )
    op.create_index(
        "ux_games_match_id_environment_count",
        "games",
        ["match_id", "environment", "count"],
        unique=True,
        sqlite_where=sa.text("match_id IS NOT NULL"),
    )
    op.create_table(
        "rounds",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("incarnation_id", sa.Integer(), nullable=False),
        sa.Column("member", sa.Text(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("frames", sa.Integer(), nullable=False),
        sa.Column("scores", sa.Text(), nullable=False),
        sa.Column("hyperparams", sa.Text(), nullable=False),
        sa.Column("rules", sa.Text(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("directive", sa.Text(), nullable=False),
        sa.Column("after_game", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("superseded", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["incarnation_id"],
            ["incarnations.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ux_rounds_incarnation_id_member_round",
        "rounds",
        ["incarnation_id", "member", "round"],
        unique=True,
    )
    op.create_table(
        "snapshots",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("population_id", sa.Integer(), nullable=False),
        sa.Column("incarnation_id", sa.Integer(), nullable=False),
        sa.Column("snapshot_id", sa.Text(), nullable=False),
        sa.Column("member", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("frames", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("parent_id", sa.Text(), nullable=True),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("is_anchor", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("weights_removed", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("after_game", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("superseded", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["incarnation_id"],
            ["incarnations.id"],
        ),
        sa.ForeignKeyConstraint(
            ["population_id"],
            ["populations.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_snapshots_snapshot_id", "snapshots", ["snapshot_id"], unique=False)
    op.create_index(
        "ux_snapshots_population_id_snapshot_id",
        "snapshots",
        ["population_id", "snapshot_id"],
        unique=True,
    )
    op.create_table(
        "game_seats",
        sa.Column("game_id", sa.Integer(), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("player_id", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("version_start", sa.Integer(), nullable=False),
        sa.Column("version_end", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("returns", sa.Float(), nullable=False),
        sa.Column("points", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["game_id"],
            ["games.id"],
        ),
        sa.PrimaryKeyConstraint("game_id", "seat"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    raise NotImplementedError(
        "the first schema has nothing below it; restore the backup that the upgrade made"
    )
