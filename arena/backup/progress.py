"""How far a backup or a restore has come."""

from dataclasses import dataclass


@dataclass
class CopyProgress:
    """Counts bytes while they pass. One thread writes it, another one may read it.

    what         is being copied now, in words
    done_bytes   so far
    total_bytes  in all, 0 while that is not known
    """

    what: str = "looking"
    done_bytes: int = 0
    total_bytes: int = 0

    def told(self, size: int) -> None:
        """So many bytes more are done."""
        self.done_bytes += size

    @property
    def share(self) -> float:
        """The part that is done, in [0, 1]."""
        return min(1.0, self.done_bytes / self.total_bytes) if self.total_bytes else 0.0
