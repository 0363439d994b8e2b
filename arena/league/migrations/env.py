"""Alembic's entry point. It runs in the transaction of the connection that `migrate` hands over."""

from alembic import context

from arena.league.schema import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    render_as_batch=True,
    transaction_per_migration=False,
)
with context.begin_transaction():
    context.run_migrations()
