#!/usr/bin/env bash
# Makes the Python environment of the quick starts with XGBoost and LightGBM where it is missing and
# prints its folder (one line, the interpreter is <folder>/bin/python); see cached.sh. Exit 77 with
# a reason where it can't be installed (no network, no wheel for this machine).
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$here/cached.sh"

fill() {
  if ! pip_install "$1" --no-deps --requirement "$here/requirements-trees.txt"; then
    echo "trees-env: XGBoost and LightGBM can't be installed here (see pip's words above)" >&2
    exit 77
  fi
  "$1/bin/python" -c 'import lightgbm, xgboost'
}

cached_python trees "$here/requirements-trees.txt" fill
