# Sourced: what is made once and kept outside the checkout.

# cached PREFIX KEY MAKE [ARGUMENT...] prints ${SERVAL_CACHE:-$HOME/.cache/serval}/PREFIX-KEY. If
# that folder is missing, it is unpacked from test/goldens, or `MAKE [ARGUMENT...] FOLDER` fills it.
# It is filled beside its final place and renamed, so a broken or parallel run leaves no half of
# one. MAKE may exit, with 77 if it can't be made here. SERVAL_GOLDENS=name: prints PREFIX-KEY only.
cached() {
  local cache="${SERVAL_CACHE:-$HOME/.cache/serval}" prefix="$1"
  local folder="$cache/$1-$2" building packed
  packed="$(dirname "${BASH_SOURCE[0]}")/../goldens/$1-$2.tar.xz"
  if [ "${SERVAL_GOLDENS:-}" = name ]; then
    echo "$1-$2"
    return 0
  fi
  shift 2
  if [ ! -e "$folder/complete" ]; then
    echo "making $folder" >&2
    mkdir -p "$cache"
    building="$(mktemp -d "$cache/$prefix-building-XXXXXX")"
    # shellcheck disable=SC2064  # the name as it is now
    trap "rm -rf '$building'" EXIT
    chmod 755 "$building"
    if [ -e "$packed" ]; then
      tar -xJf "$packed" -C "$building" >&2
    else
      "$@" "$building" >&2
    fi
    touch "$building/complete"
    rm -rf "$folder.broken"
    [ ! -e "$folder" ] || [ -e "$folder/complete" ] || mv -T "$folder" "$folder.broken"
    # Another run may have been faster: then its folder is as good as ours.
    mv -T "$building" "$folder" 2>/dev/null || [ -e "$folder/complete" ]
    rm -rf "$folder.broken"
  fi
  echo "$folder"
}

# cached_python PREFIX LOCK MAKE: the same of an environment of Python, whose key is the lock and
# the interpreter: MAKE gets one that has nothing yet. Nothing is run through the scripts in bin,
# whose first line names the folder the environment was made in; `python -m` and imports follow the
# renamed folder.
cached_python() {
  local python="${PYTHON:-python3}" version key
  version="$("$python" -c 'import sys; print(sys.version, sys.base_prefix)')"
  key="$({ cat "$2" && echo "$version"; } | sha256sum | cut -c1-16)"
  cached "$1" "$key" make_venv "$python" "$3"
}

make_venv() {
  "$1" -m venv "$3"
  "$2" "$3"
}

# pip ARGUMENT...: installs into the environment in FOLDER.
pip_install() {
  local folder="$1"
  shift
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --retries 5 \
    --only-binary :all: "$@"
}
