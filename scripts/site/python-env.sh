#!/usr/bin/env bash
# Makes the Python environment with MkDocs Material where it is missing and prints its folder:
# ${SERVAL_CACHE:-$HOME/.cache/serval}/site-<key>, see test/env/cached.sh.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
lock="$here/requirements.txt"
source "$here/../../test/env/cached.sh"

fill() {
  pip_install "$1" --no-deps --requirement "$lock"
  "$1/bin/python" -c 'import material, mkdocs, pymdownx.slugs'
}

cached_python site "$lock" fill
