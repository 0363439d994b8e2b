"""The league database: schema, migrations, the one writer, and read models.

Callers get frozen dataclasses and records; no database row leaves this package.
"""
