#!/usr/bin/env bash
# Makes the Python environment with Spark and scikit-learn, which write the goldens of tabular
# models, where it is missing and prints its folder (one line, the interpreter is
# <folder>/bin/python); see cached.sh. Exit 77 with a reason where they can't be installed (no
# network, no wheel for this machine).
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
lock="$here/requirements-tabular.txt"
source "$here/cached.sh"

fill() {
  if ! pip_install "$1" --no-binary pyspark --no-deps --requirement "$lock"; then
    echo "tabular-env: Spark can't be installed here (see pip's words above)" >&2
    exit 77
  fi
  if ! "$1/bin/python" -c '
import pyspark, sklearn, sklearn2pmml
print("tabular-env: Spark", pyspark.__version__, "scikit-learn", sklearn.__version__)'; then
    echo "tabular-env: Spark or scikit-learn is installed but does not start here" >&2
    exit 77
  fi
}

cached_python tabular "$lock" fill
