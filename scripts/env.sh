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
# Which Python it was made with is not part of that: a newer python3 on the path is no reason to take an environment
# away from a server that runs in it. Two runs at once make it once: the second one waits.
make_environment() {
    local directory=$1 groups=$2 python stamp
    python=$(find_python)
    stamp=$("$python" -c 'import hashlib, sys; print(hashlib.sha256(open("pyproject.toml", "rb").read() + repr(sys.argv[1:]).encode()).hexdigest())' "$(pwd -P)" "$groups")
    if is_made "$directory" "$stamp"; then
        return
    fi
    mkdir -p "$directory"
    (
        # The lock is that of descriptor 9, so it outlives the Python that takes it and ends with this subshell,
        # however that ends. macOS has no command for it.
        "$python" - "$directory" <<'LOCK'
import fcntl, sys

try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print(f"waiting for another run that makes {sys.argv[1]}", file=sys.stderr, flush=True)
    fcntl.flock(9, fcntl.LOCK_EX)
LOCK
        if ! is_made "$directory" "$stamp"; then
            make_anew "$directory" "$groups" "$python"
            echo "$stamp" >"$directory/.stamp"
        fi
    ) 9>"$directory/.lock"
}

# Whether the environment is there, is what the stamp says, and has a Python that runs and finds this package in it.
is_made() {
    local directory=$1 stamp=$2
    [ "$(cat "$directory/.stamp" 2>/dev/null || true)" = "$stamp" ] &&
        "$directory/bin/python" -I -c 'import kcoord' 2>/dev/null
}

make_anew() {
    local directory=$1 groups=$2 python=$3 group
    local -a wanted=()
    echo "making $directory (once)" >&2
    rm -f "$directory/.stamp"
    find "$directory" -mindepth 1 -maxdepth 1 ! -name .lock -exec rm -rf {} +
    "$python" -m venv "$directory"
    for group in $groups; do
        wanted+=(--group "$group")
    done
    if [ -n "$groups" ]; then
        # The pip that comes with older Pythons knows no dependency groups.
        pip_install "$directory" --upgrade "pip>=25.1"
    fi
    pip_install "$directory" "${wanted[@]+"${wanted[@]}"}" --editable ".[web,demo]"
}

pip_install() {
    local directory=$1
    shift
    if ! "$directory/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; then
        echo "pip could not bring what belongs in $directory, for which it needs a network once; run this again then" >&2
        return 1
    fi
}
