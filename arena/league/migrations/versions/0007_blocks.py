"""Blocks of training games. Those that have rows already keep them.

Revision ID: 0007. What was folded so far was folded without regard to the windows of rounds.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "game_blocks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("voided", sa.Integer(), nullable=False),
        sa.Column("superseded_from", sa.Integer(), nullable=True),
        sa.Column("committed_at", sa.Integer(), nullable=False),
        sa.Column("totals", sa.Text(), nullable=False),
        sa.Column("columns", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "block_players",
        sa.Column("block_id", sa.Integer(), nullable=False),
        sa.Column("player_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["block_id"], ["game_blocks.id"]),
        sa.PrimaryKeyConstraint("block_id", "player_id"),
        sqlite_with_rowid=False,
    )
    training = sa.text("kind = 0")
    op.create_index("ix_games_training", "games", ["id"], unique=False, sqlite_where=training)
    op.add_column("folded_results", sa.Column("squares", sa.Float(), nullable=True))
    cut = sa.Column("cut_game_id", sa.Integer(), server_default=sa.text("0"), nullable=False)
    op.add_column("folds", cut)
    op.execute("UPDATE folds SET cut_game_id = through_game_id")


def downgrade() -> None:
    op.drop_column("folds", "cut_game_id")
    op.drop_column("folded_results", "squares")
    op.drop_index("ix_games_training", "games")
    op.drop_table("block_players")
    op.drop_table("game_blocks")
