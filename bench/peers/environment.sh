#!/usr/bin/env bash
# environment.sh NAME: makes the Python environment of the peer NAME where it is missing, from
# requirements/NAME.txt, and prints its folder (one line, the interpreter is <folder>/bin/python):
# ${SERVAL_CACHE:-$HOME/.cache/serval}/peer-NAME-<key>, see test/env/cached.sh. With --check it
# makes nothing: prints the folder, or ends with 3 where it is missing.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$here/../../test/env/cached.sh"

checks=false
[ "${1:-}" != --check ] || { checks=true && shift; }
lock="$here/requirements/${1:?a name of requirements/NAME.txt is missing}.txt"

fill() {
  ! "$checks" || exit 3
  pip_install "$1" --no-deps --requirement "$lock"
  "$1/bin/python" -c 'import numpy, onnxruntime'
}

cached_python "peer-$1" "$lock" fill
