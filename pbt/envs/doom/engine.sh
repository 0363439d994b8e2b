#!/bin/sh
# ViZDoom starts this, by a link in the engine's folder, in place of the engine; `start` beside the link is the command.
# No process writes it: a file that is executed must not be open for writing anywhere, not even in a process that another thread is just forking.
. "${0%/*}/start"
