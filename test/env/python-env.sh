#!/usr/bin/env bash
# Makes the Python environment of the tests where it is missing and prints its folder (one line, the
# interpreter is <folder>/bin/python): ${SERVAL_CACHE:-$HOME/.cache/serval}/python-<key>, see
# cached.sh.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
lock="$here/requirements.txt"
source "$here/cached.sh"

fill() {
  pip_install "$1" --requirement "$lock"
  "$1/bin/python" "$here/check_imports.py"
}

cached_python python "$lock" fill
