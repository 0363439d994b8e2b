"""Webhooks: the service tells a receiver of a person's choice what becomes of a population."""
