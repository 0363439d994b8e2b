"""How the games of a start follow from its seed (`pbt.seeding.STREAMS`).

Revision ID: 0006. Starts that are there already have none, which stands for 1.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("incarnations", sa.Column("streams", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("incarnations", "streams")
