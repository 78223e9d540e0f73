#!/usr/bin/env bash
# Makes the Python environment with Spark 4, which writes the checked-in answers and names of SQL
# expressions (test/fixtures/tabular/ansi and sql), where it is missing and prints its folder (one
# line, the interpreter is <folder>/bin/python); see cached.sh. No test needs it. Exit 77 with a
# reason where it can't be installed (no network, no wheel for this machine).
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
lock="$here/requirements-spark4.txt"
source "$here/cached.sh"

fill() {
  if ! pip_install "$1" --no-binary pyspark --no-deps --requirement "$lock"; then
    echo "spark4-env: Spark can't be installed here (see pip's words above)" >&2
    exit 77
  fi
  if ! "$1/bin/python" -c 'import pyspark; print("spark4-env: Spark", pyspark.__version__)'; then
    echo "spark4-env: Spark is installed but does not start here" >&2
    exit 77
  fi
}

cached_python spark4 "$lock" fill
