"""What every child process of ours shares: how it starts, how it is heard, how it ends."""
