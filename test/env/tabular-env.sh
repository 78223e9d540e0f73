#!/usr/bin/env bash
# Makes the Python environment with Spark and scikit-learn, which write the goldens of tabular
# models, where it is missing and prints its folder (one line, the interpreter is
# <folder>/bin/python). Keyed, built and renamed as python-env.sh does it. Exit 77 with a reason
# where they can't be installed (no network, no wheel for this machine).
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
lock="$here/requirements-tabular.txt"
cache="${SERVAL_CACHE:-$HOME/.cache/serval}"
python="${PYTHON:-python3}"

version="$("$python" -c 'import sys; print(sys.version, sys.base_prefix)')"
key="$({ cat "$lock" && echo "$version"; } | sha256sum | cut -c1-16)"
folder="$cache/tabular-$key"

if [ ! -e "$folder/complete" ]; then
  echo "tabular-env: making $folder" >&2
  mkdir -p "$cache"
  building="$(mktemp -d "$cache/tabular-building-XXXXXX")"
  trap 'rm -rf "$building"' EXIT
  chmod 755 "$building"
  "$python" -m venv "$building" >&2
  if ! "$building/bin/python" -m pip install --quiet --disable-pip-version-check --retries 5 \
    --only-binary :all: --no-binary pyspark --no-deps --requirement "$lock" >&2; then
    echo "tabular-env: Spark can't be installed here (see pip's words above)" >&2
    exit 77
  fi
  if ! "$building/bin/python" -c '
import pyspark, sklearn, sklearn2pmml
print("tabular-env: Spark", pyspark.__version__, "scikit-learn", sklearn.__version__)' >&2; then
    echo "tabular-env: Spark or scikit-learn is installed but does not start here" >&2
    exit 77
  fi
  touch "$building/complete"
  rm -rf "$folder.broken"
  [ ! -e "$folder" ] || [ -e "$folder/complete" ] || mv -T "$folder" "$folder.broken"
  # Another run may have been faster: then its folder is as good as ours.
  mv -T "$building" "$folder" 2>/dev/null || [ -e "$folder/complete" ]
  rm -rf "$folder.broken"
fi
echo "$folder"
