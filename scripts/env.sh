# Sourced by the other scripts: makes a virtual environment with this package in it, once for each state of pyproject.toml.

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        if [ -n "$candidate" ] && command -v "$candidate" >/dev/null &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            echo "$candidate"
            return
        fi
    done
    echo "kcoord needs Python 3.11 or newer; none was found (set PYTHON to one)" >&2
    return 1
}

# make_environment DIRECTORY "GROUP ..."
#
# A stamp keeps what the environment was made from. It is written last, so an interrupted run is made good by the next.
make_environment() {
    local directory=$1 groups=$2 python stamp group
    local -a wanted=()
    python=$(find_python)
    stamp=$("$python" -c 'import hashlib, sys; print(hashlib.sha256(open("pyproject.toml", "rb").read() + repr(sys.argv[1:] + [sys.version]).encode()).hexdigest())' "$PWD" "$groups")
    if [ "$(cat "$directory/.stamp" 2>/dev/null || true)" = "$stamp" ]; then
        return
    fi
    echo "making $directory (once)" >&2
    rm -rf "$directory"
    "$python" -m venv "$directory"
    for group in $groups; do
        wanted+=(--group "$group")
    done
    # The pip that comes with older Pythons knows no dependency groups.
    "$directory/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
    "$directory/bin/python" -m pip install --quiet --disable-pip-version-check "${wanted[@]+"${wanted[@]}"}" --editable .
    echo "$stamp" >"$directory/.stamp"
}
