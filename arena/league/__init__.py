"""The league database: schema, migrations, the one writer, and read models. ORM objects never
leave this package.
"""
