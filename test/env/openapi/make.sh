#!/usr/bin/env bash
# Makes what checks the OpenAPI document and makes clients of it, where it is missing, and prints
# its folder (one line: the interpreter is <folder>/bin/python, npm's packages are in
# <folder>/node_modules); see ../cached.sh. Exit 77 with a reason where it can't be installed.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
lock="$here/requirements.txt"
source "$here/../cached.sh"

fill() {
  if ! pip_install "$1" --no-deps --requirement "$lock"; then
    echo "openapi: the packages of Python can't be installed here (see pip's words above)" >&2
    exit 77
  fi
  cp "$here/package.json" "$here/package-lock.json" "$1"
  if ! (cd "$1" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error); then
    echo "openapi: the packages of npm can't be installed here (see npm's words above)" >&2
    exit 77
  fi
}

# The key is both locks.
both="$(mktemp)"
cat "$lock" "$here/package-lock.json" >"$both"
cached_python openapi "$both" fill
rm -f "$both"
