"""The tables of the service: desired states, operations, events and answers.

Revision ID: 0002. The long function is a list of tables, and a migration is never changed again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "supervised",
        sa.Column("population_id", sa.Integer(), nullable=False),
        sa.Column("desired", sa.Text(), nullable=False),
        sa.Column("desired_at", sa.Float(), nullable=False),
        sa.Column("overrides", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("restarts", sa.Integer(), nullable=False),
        sa.Column("trainer", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["population_id"], ["populations.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("population_id"),
    )
    op.create_table(
        "operations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("population", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("grace_s", sa.Float(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("finished_at", sa.Float(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_operations_population_id", "operations", ["population", "id"], unique=False)
    op.create_table(
        "service_events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("population", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "event_cursors",
        sa.Column("incarnation_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["incarnation_id"], ["incarnations.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("incarnation_id"),
    )
    op.create_table(
        "answers",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("request_sha256", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("location", sa.Text(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("answers")
    op.drop_table("event_cursors")
    op.drop_table("service_events")
    op.drop_index("ix_operations_population_id", "operations")
    op.drop_table("operations")
    op.drop_table("supervised")
