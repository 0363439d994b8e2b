"""Wiring certificates; and versions at first actions that earlier programs did not note.

Revision ID: 0004. Such versions become unknown. Earlier programs noted the version only at a seat's
first decision of all, and an opening ply counted as one. So a 0 of a member's seat means nothing in
a game with opening plies, nor in a voided game, which may have ended before the seat acted. All
other values were noted at the player's first action and stay. A 0 in a finished game without
opening plies is the version of untrained weights, or stands at a seat that never had a turn; no
game of this program has such seats.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "wiring_certificates",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("incarnation_id", sa.Integer(), nullable=False),
        sa.Column("member", sa.Text(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("frames", sa.Integer(), nullable=False),
        sa.Column("checks", sa.Text(), nullable=False),
        sa.Column("agrees", sa.Integer(), nullable=False),
        sa.Column("after_game", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("superseded", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["incarnation_id"], ["incarnations.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ux_wiring_certificates_incarnation_id_member_frames",
        "wiring_certificates",
        ["incarnation_id", "member", "frames"],
        unique=True,
    )
    op.execute(
        """
        UPDATE game_seats SET version_start = -1
        WHERE version_start = 0
          AND player_id IN (SELECT id FROM players WHERE kind = 0)
          AND EXISTS (
              SELECT 1 FROM games
              WHERE games.id = game_seats.game_id AND (opening_plies > 0 OR voided = 1)
          )
        """
    )


def downgrade() -> None:
    op.drop_index("ux_wiring_certificates_incarnation_id_member_frames", "wiring_certificates")
    op.drop_table("wiring_certificates")
    op.execute("UPDATE game_seats SET version_start = 0 WHERE version_start = -1")
