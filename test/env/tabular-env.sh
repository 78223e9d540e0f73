#!/usr/bin/env bash
# Makes the Python environment that writes the goldens of tabular models, where it is missing, and
# prints its folder (one line, the interpreter is <folder>/bin/python); see cached.sh.
# tabular-env.sh: Spark 3 and scikit-learn; tabular-env.sh spark4: Spark 4. Exit 77 with a reason
# where they can't be installed (no network, no wheel for this machine).
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$here/cached.sh"
kind="${1:-tabular}"
lock="$here/requirements-$kind.txt"
case "$kind" in
  tabular) try='import pyspark, sklearn, sklearn2pmml
print("tabular-env: Spark", pyspark.__version__, "scikit-learn", sklearn.__version__)' ;;
  spark4) try='import pyspark; print("tabular-env: Spark", pyspark.__version__)' ;;
  *) echo "tabular-env.sh [spark4], got $kind" >&2; exit 1 ;;
esac

fill() {
  if ! pip_install "$1" --no-binary pyspark --no-deps --requirement "$lock"; then
    echo "tabular-env: Spark can't be installed here (see pip's words above)" >&2
    exit 77
  fi
  if ! "$1/bin/python" -c "$try"; then
    echo "tabular-env: Spark is installed but does not start here" >&2
    exit 77
  fi
}

cached_python "$kind" "$lock" fill
