#!/usr/bin/env bash
# Makes the Python environment of the tests where it is missing and prints its folder (one line, the
# interpreter is <folder>/bin/python). The folder is keyed by the lock and the interpreter, so it is
# made once, outside the checkout: ${SERVAL_CACHE:-$HOME/.cache/serval}/python-<key>. It is built
# beside its final place and renamed, so a broken or parallel run leaves no half of one.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
lock="$here/requirements.txt"
cache="${SERVAL_CACHE:-$HOME/.cache/serval}"
python="${PYTHON:-python3}"

version="$("$python" -c 'import sys; print(sys.version, sys.base_prefix)')"
key="$({ cat "$lock" && echo "$version"; } | sha256sum | cut -c1-16)"
folder="$cache/python-$key"

if [ ! -e "$folder/complete" ]; then
  echo "python-env: making $folder" >&2
  mkdir -p "$cache"
  building="$(mktemp -d "$cache/python-building-XXXXXX")"
  trap 'rm -rf "$building"' EXIT
  chmod 755 "$building"
  # Nothing is run through the scripts in bin, whose first line names the folder
  # the environment was made in; `python -m` and imports follow the renamed folder.
  "$python" -m venv "$building" >&2
  "$building/bin/python" -m pip install --quiet --disable-pip-version-check --retries 5 \
    --only-binary :all: --requirement "$lock" >&2
  "$building/bin/python" "$here/check_imports.py" >&2
  touch "$building/complete"
  rm -rf "$folder.broken"
  [ ! -e "$folder" ] || [ -e "$folder/complete" ] || mv -T "$folder" "$folder.broken"
  # Another run may have been faster: then its folder is as good as ours.
  mv -T "$building" "$folder" 2>/dev/null || [ -e "$folder/complete" ]
  rm -rf "$folder.broken"
fi
echo "$folder"
