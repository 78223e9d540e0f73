#!/usr/bin/env bash
# Makes the Python environment with an old TensorFlow that still has the boosted trees estimators,
# where it is missing, and prints its folder: env.sh 1.15|2.8; see ../cached.sh. They need
# Python 3.7 and 3.10, of the path or of pyenv. Exit 77 with a reason where there is no such Python
# or TensorFlow can't be installed (no network, no wheel for this machine).
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
tensorflow="$1"
lock="$here/requirements-$tensorflow.txt"
source "$here/../cached.sh"

case "$tensorflow" in
  1.15) wanted=3.7 ;;
  2.8) wanted=3.10 ;;
  *) echo "estimators-env: no TensorFlow $tensorflow here" >&2; exit 1 ;;
esac

found=""
for candidate in "$(command -v "python$wanted" || true)" \
  "${PYENV_ROOT:-$HOME/.pyenv}/versions/$wanted".*/bin/python; do
  if [ -x "$candidate" ] && "$candidate" -c 'import ensurepip, sys, venv
sys.exit(".".join(map(str, sys.version_info[:2])) != sys.argv[1])' "$wanted" 2> /dev/null; then
    found="$candidate"
    break
  fi
done
if [ -z "$found" ]; then
  echo "estimators-env: no Python $wanted here, which TensorFlow $tensorflow needs" >&2
  exit 77
fi

fill() {
  if ! pip_install "$1" --no-binary gast --no-deps --requirement "$lock"; then
    echo "estimators-env: TensorFlow $tensorflow can't be installed here (pip's words above)" >&2
    exit 77
  fi
  if ! TF_CPP_MIN_LOG_LEVEL=3 "$1/bin/python" -c '
import tensorflow
tensorflow.estimator.BoostedTreesClassifier
print("estimators-env: TensorFlow", tensorflow.__version__)'; then
    echo "estimators-env: TensorFlow $tensorflow is installed but does not start here" >&2
    exit 77
  fi
}

PYTHON="$found" cached_python "estimators-$tensorflow" "$lock" fill
