#!/usr/bin/env bash
# Makes the Python environment with TensorFlow Decision Forests, where it is missing, and prints its
# folder; see ../cached.sh. Exit 77 with a reason where it can't be installed (no network, no wheel
# for this machine or Python).
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
lock="$here/requirements.txt"
source "$here/../cached.sh"

fill() {
  if ! pip_install "$1" --no-deps --requirement "$lock"; then
    echo "forests-env: TensorFlow Decision Forests can't be installed here (pip's words above)" >&2
    exit 77
  fi
  if ! TF_CPP_MIN_LOG_LEVEL=3 "$1/bin/python" -c '
import tensorflow, tf_keras, ydf
print("forests-env: TensorFlow", tensorflow.__version__, "YDF", ydf.__version__)'; then
    echo "forests-env: TensorFlow is installed but does not start here" >&2
    exit 77
  fi
}

cached_python forests "$lock" fill
