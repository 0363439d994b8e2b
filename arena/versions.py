"""Versions of what a run was computed with."""

import importlib.metadata
import platform

VERSIONED = ("pbt-arena", "torch", "numpy", "pettingzoo", "gymnasium")


def versions() -> dict[str, str]:
    """Package -> version, of those that are installed; imports none of them."""
    found = {package: importlib.metadata.version(package) for package in VERSIONED if _installed(package)}
    return {"python": platform.python_version(), **found}


def _installed(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
