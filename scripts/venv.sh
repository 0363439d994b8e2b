#!/bin/sh
# Makes .venv and installs pbt-arena into it, once; called by the Makefile.
#
#   scripts/venv.sh run|test|dev      what to install: the program, + what tests need, + what checks need
#
# PYTHON=/path/to/python chooses the interpreter, VENV=/path the folder. The script needs no uv, no
# conda and no root, and never calls apt. If the machine lacks something, one line names it. If an
# installation was interrupted, the next call starts it afresh.
set -eu
trap 'exit 130' INT
trap 'exit 143' TERM

cd "$(dirname "$0")/.."
level=${1:-run}
venv=${VENV:-.venv}
torch="torch==2.13.*"
torch_cpu="torch==2.13.0+cpu"                      # tests hold this against pyproject.toml
cpu_index="https://download.pytorch.org/whl/cpu"   # PyTorch's own index of CPU builds
cpu_disk_gb=3
cuda_disk_gb=10

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 1; }
apt() { if [ "$(id -u)" = 0 ]; then echo "apt-get install -y $*"; else echo "sudo apt-get install -y $*"; fi; }

case $level in
    run)  extras="" ;;
    test) extras="[test]" ;;
    dev)  extras="[dev]" ;;
    *)    fail "unknown level \"$level\"; use run, test or dev" ;;
esac

# Of two calls at once (two terminals, make -j) the second waits for the first. flock is part of
# util-linux; without it there is no waiting.
if command -v flock >/dev/null 2>&1; then
    exec 9<pyproject.toml
    flock -n 9 || { say "waiting for another installation into $venv ..."; flock -w 3600 9 || fail "another installation still runs after an hour"; }
fi

web="web/*.* web/src/*.* web/src/*/*.* web/src/*/*/*.*"
fingerprint="$(cat pyproject.toml hatch_build.py pbt/native/*.[ch] $web scripts/venv.sh | cksum | cut -d' ' -f1) $(pwd)"
stamped() { [ -x "$venv/bin/python" ] && [ "$(cat "$venv/.installed-$1" 2>/dev/null)" = "$fingerprint" ]; }
is_installed() {
    case $level in
        run)  stamped run || stamped test || stamped dev ;;
        test) stamped test || stamped dev ;;
        dev)  stamped dev ;;
    esac
}
if [ ! -e "$venv/.installing" ] && is_installed && "$venv/bin/python" -c "" 2>/dev/null; then exit 0; fi

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
find_python() {
    for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3.14 python3}; do
        if command -v "$candidate" >/dev/null 2>&1 && new_enough "$candidate"; then echo "$candidate"; return; fi
    done
}
python=$(find_python)
if [ -z "$python" ]; then
    distribution=$(apt-cache policy python3 2>/dev/null | sed -n 's/.*Candidate: *3\.\([0-9]*\).*/\1/p')
    if [ "${distribution:-11}" -ge 11 ]; then packages="python3 python3-venv"; else packages="python3.11 python3.11-venv"; fi
    fail "Python 3.11 or newer is missing (found: $(python3 -V 2>/dev/null || echo none)); install it: $(apt "$packages")"
fi
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
"$python" -c 'import venv, ensurepip' 2>/dev/null \
    || fail "$python has no venv module; install it: $(apt "python$version-venv")"

need_disk() {
    free_gb=$(df -Pk . | awk 'NR == 2 { print int($4 / 1048576) }')
    [ "${free_gb:-0}" -ge "$1" ] || fail "not enough disk space in $(pwd): $free_gb GB free, $1 GB needed for $2; free some, or set VENV=/another/disk/venv"
}
has_nvidia() { [ -e /proc/driver/nvidia/version ] || nvidia-smi -L >/dev/null 2>&1; }

# A folder that is half-done, copied from elsewhere, or made by a Python that is gone is made anew.
if [ -d "$venv" ]; then
    if [ -e "$venv/.installing" ]; then
        say "The last installation into $venv was interrupted; starting it afresh."
        rm -rf "$venv"
    elif ! "$venv/bin/python" -m pip --version >/dev/null 2>&1 || ! new_enough "$venv/bin/python" || [ "$(cat "$venv/.path" 2>/dev/null)" != "$(pwd)" ]; then
        say "$venv cannot be used (moved, or its Python is gone); making it anew."
        rm -rf "$venv"
    fi
fi
if [ ! -d "$venv" ]; then
    need_disk $cpu_disk_gb "the installation"
    say "[1/3] Making $venv with $("$python" -V)"
    mkdir -p "$venv"
    : > "$venv/.installing"
    "$python" -m venv "$venv" || fail "$python could not make a virtual environment; install what it needs: $(apt "python$version-venv")"
    pwd > "$venv/.path"
fi
: > "$venv/.installing"
rm -f "$venv"/.installed-*

# Packages are unpacked beside the target: /tmp may be small, or in memory.
mkdir -p "$venv/tmp"
TMPDIR=$(cd "$venv/tmp" && pwd)
PIP_USER=0
PIP_DISABLE_PIP_VERSION_CHECK=1
export TMPDIR PIP_USER PIP_DISABLE_PIP_VERSION_CHECK
log="$venv/install.log"
: > "$log"
pip_install() { "$venv/bin/python" -m pip install --log "$log" "$@" </dev/null >&2; }
pip_try() { "$venv/bin/python" -m pip install --log "$log" "$@" </dev/null >&2 2>/dev/null; }   # progress, but no complaints
explain() {
    if grep -qi "no space left on device" "$log"; then fail "the disk is full: $cpu_disk_gb GB are needed in $(pwd)"; fi
    if grep -qE "error: command '?[^ ]*(gcc|cc|g\+\+)|Python\.h: No such file" "$log"; then
        fail "a package has no ready build for Python $version and a compiler is missing; install it: $(apt "build-essential python$version-dev")"
    fi
    if grep -qiE "NewConnectionError|Temporary failure in name resolution|Network is unreachable|ReadTimeout" "$log"; then
        fail "the package index cannot be reached; check the network (or pip's proxy and index settings), then run this again"
    fi
    fail "the installation failed; pip's reason stands above, all of it in $log"
}
reachable() {
    "$venv/bin/python" -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=5)' "$1/torch/" >/dev/null 2>&1
}

# A CPU build is 200 MB. The default build for Linux brings CUDA libraries of several GB, which are of
# no use without a driver.
install_torch() {
    if "$venv/bin/python" -c 'import torch; assert torch.__version__.startswith("2.13.")' 2>/dev/null; then return; fi
    if [ "$(uname -s)" != Linux ]; then
        say "[2/3] Installing PyTorch"
        pip_install "$torch" || explain
        return
    fi
    if has_nvidia; then
        need_disk $cuda_disk_gb "PyTorch with CUDA"
        say "[2/3] Installing PyTorch with CUDA (an NVIDIA driver is here): several GB, this takes a while"
        pip_install "$torch" || explain
        return
    fi
    say "[2/3] Installing PyTorch, CPU build (no NVIDIA driver here): about 200 MB"
    # Try the places that pip is set up with on this machine first, then PyTorch's public index.
    if pip_try "$torch_cpu"; then return; fi
    if reachable "$cpu_index" && pip_try --extra-index-url "$cpu_index" "$torch_cpu"; then return; fi
    need_disk $cuda_disk_gb "PyTorch with CUDA"
    say "      No CPU build is offered here: taking the default one, which brings CUDA libraries (several GB; works without a GPU, too)"
    : > "$log"
    pip_install "$torch" || explain
}
install_torch
say "[3/3] Installing pbt-arena$extras and what it needs"
pip_install --editable ".$extras" || explain

rm -rf "$venv/tmp"
printf '%s\n' "$fingerprint" > "$venv/.installed-$level"
rm -f "$venv/.installing"
say "Installed into $venv ($(du -sh "$venv" 2>/dev/null | cut -f1))."
