#!/usr/bin/env bash
# Makes the Python environment that fits and calls the models of the rows of trees, where it is
# missing, and prints its folder (one line, the interpreter is <folder>/bin/python); see
# test/env/cached.sh. Exit 77 with a reason if it can't be installed.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$here/../../test/env/cached.sh"
lock="$here/requirements.txt"

fill() {
  if ! pip_install "$1" --no-deps --requirement "$lock"; then
    echo "trees: lightgbm, xgboost, lleaves and treelite can't be installed here (see above)" >&2
    exit 77
  fi
}

cached_python tree-bench "$lock" fill
