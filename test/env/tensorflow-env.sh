#!/usr/bin/env bash
# Makes the Python environment with TensorFlow, which writes the importer's goldens, where it is
# missing and prints its folder (one line, the interpreter is <folder>/bin/python); see cached.sh.
# Exit 77 with a reason where TensorFlow can't be installed (no network, no wheel for this machine).
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
lock="$here/requirements-tensorflow.txt"
source "$here/cached.sh"

fill() {
  if ! pip_install "$1" --no-deps --requirement "$lock"; then
    echo "tensorflow-env: TensorFlow can't be installed here (see pip's words above)" >&2
    exit 77
  fi
  # A processor without the instructions of the wheel, or a missing system library, shows here.
  if ! TF_CPP_MIN_LOG_LEVEL=3 "$1/bin/python" -c '
import keras, PIL, tensorflow, tensorflow_serving.apis.predict_pb2, tf_keras
print("tensorflow-env: TensorFlow", tensorflow.__version__, "Keras", keras.__version__)'; then
    echo "tensorflow-env: TensorFlow is installed but does not start here" >&2
    exit 77
  fi
}

cached_python tensorflow "$lock" fill
