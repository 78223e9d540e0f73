#!/usr/bin/env bash
# Measures Serval on this machine's GPU. It needs NVIDIA's driver and the CUDA libraries of a Python
# environment, no Node, no npm and no network:
#   run.sh ENVIRONMENT [--full] [options of bench/gpu/run.mjs]
# ENVIRONMENT: as of `serval gpu adopt`. Without --full, the run fits 4 minutes (--quick).
# The archive, or all of its parts, is beside this file. Folders: SERVAL_STAGE (unpacked files and
# models; default: stage beside this file), SERVAL_OUT (results; default: results beside it).
# Exit code: that of bench/gpu/run.mjs: 0 measured, 1 a row could not be, 2 there is no GPU.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
stage="${SERVAL_STAGE:-$here/stage}"
out="${SERVAL_OUT:-$here/results}"
archive=serval-gpu-bench

if [ $# -lt 1 ] || [ "${1#-}" != "$1" ]; then
  echo "usage: run.sh ENVIRONMENT [--full] [options of bench/gpu/run.mjs]" >&2
  exit 64
fi
environment="$1"
shift
options=(--quick)
for option in "$@"; do
  if [ "$option" = --full ]; then unset 'options[0]'; else options+=("$option"); fi
done

# Unpacks the archive, unless this one is unpacked already.
cd "$here"
if ! cmp -s "$archive.sha256" "$stage/$archive.sha256"; then
  sha256sum --check --quiet "$archive.sha256"
  rm -rf "$stage/serval" "$stage/onnxruntime" "$stage/gpu"
  mkdir -p "$stage"
  cat "$archive".tar.gz* | tar -xzf - -C "$stage"
  cp "$archive.sha256" "$stage/"
fi
cd - >/dev/null

export SERVAL_GPU_FOLDER="$stage/gpu"
serval="$stage/serval"
brought=()
if [ -d "$stage/onnxruntime" ]; then brought=(--onnxruntime "$stage/onnxruntime"); fi
"$serval/bin/serval" gpu adopt "$environment" ${brought[@]+"${brought[@]}"}
"$serval/bin/serval" doctor || true
mkdir -p "$out"
exec "$serval/node/node" "$serval/bench/gpu/run.mjs" --programs "$serval/programs" \
  --models-folder "$stage/models" --out "$out" ${options[@]+"${options[@]}"}
