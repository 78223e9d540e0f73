#!/usr/bin/env bash
# Writes the cases of ONNX's own backend suite where they are missing and prints their folder (one
# line). The folder is keyed by the lock, the script that writes them and the interpreter:
# ${SERVAL_CACHE:-~/.cache/serval}/onnx-cases-<key>; built beside its place and renamed, as
# python-env.sh does it. Exit 77 with a reason where the package can't be had.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
lock="$here/requirements-onnx.txt"
writer="$here/../fuzz/make-onnx-cases.py"
cache="${SERVAL_CACHE:-$HOME/.cache/serval}"
python="${PYTHON:-python3}"

version="$("$python" -c 'import sys; print(sys.version, sys.base_prefix)')"
key="$({ cat "$lock" "$writer" && echo "$version"; } | sha256sum | cut -c1-16)"
folder="$cache/onnx-cases-$key"

if [ ! -e "$folder" ]; then
  echo "onnx-cases: making $folder" >&2
  mkdir -p "$cache"
  building="$(mktemp -d "$cache/onnx-building-XXXXXX")"
  trap 'rm -rf "$building"' EXIT
  "$python" -m venv "$building/env" >&2
  if ! "$building/env/bin/python" -m pip install --quiet --disable-pip-version-check --retries 3 \
    --only-binary :all: --no-deps --requirement "$lock" >&2; then
    echo "onnx-cases: the package onnx can't be installed here (see pip's words above)" >&2
    exit 77
  fi
  mkdir "$building/cases"
  "$building/env/bin/python" "$writer" "$building/cases" >&2
  # Another run may have been faster: then its folder is as good as ours.
  mv -T "$building/cases" "$folder" 2>/dev/null || [ -e "$folder" ]
fi
echo "$folder"
