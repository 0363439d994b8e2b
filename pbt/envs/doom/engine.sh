#!/bin/sh
# ViZDoom starts this script in place of the engine, by a link in the engine's folder. The file
# `start` beside the link holds the command.
# No process writes this script: a file that is executed must not be open for writing anywhere, not
# even in a process that another thread is just forking.
. "${0%/*}/start"
