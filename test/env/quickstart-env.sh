#!/usr/bin/env bash
# Makes the Python environment of the quick starts with scikit-learn ("quickstart", the default), or
# of those with XGBoost and LightGBM ("trees"), where it is missing and prints its folder (one line,
# the interpreter is <folder>/bin/python); see cached.sh. Exit 77 with a reason where it can't be
# installed (no network, no wheel for this machine).
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$here/cached.sh"

name="${1:-quickstart}"
case "$name" in
  quickstart) imports='requests, skl2onnx, sklearn, tritonclient.grpc, tritonclient.http' ;;
  trees) imports='lightgbm, xgboost' ;;
  *)
    echo "quickstart-env: expected quickstart or trees, got '$name'" >&2
    exit 2
    ;;
esac

fill() {
  if ! pip_install "$1" --no-deps --requirement "$here/requirements-$name.txt"; then
    echo "quickstart-env: the packages of $name can't be installed here (see pip's words above)" >&2
    exit 77
  fi
  "$1/bin/python" -c "import $imports"
}

cached_python "$name" "$here/requirements-$name.txt" fill
