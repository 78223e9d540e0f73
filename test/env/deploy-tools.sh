#!/usr/bin/env bash
# Makes what the tests of deploy/ need where it is missing, and prints its folder: helm, our
# validate (test/deploy/go), and KServe's definitions and runtimes, from its Go module; keyed by
# their locks, see cached.sh. Exit 77 with a reason where there is no Go or no network.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source_folder="$(dirname "$here")/deploy/go"
source "$here/cached.sh"

kserve=github.com/kserve/kserve@v0.15.2
kserve_sum=h1:uph7Umk331fvBMrHHpTJNDt6+lf3IAuyiskaQw8wIAk=

unavailable() {
  echo "deploy-tools: $1" >&2
  exit 77
}

command -v go > /dev/null || unavailable "no go here; Debian's is golang-go"
export GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0

fill() {
  local answer from
  (cd "$source_folder" && go mod download) || unavailable "the modules can't be fetched (see above)"
  answer="$(cd "$source_folder" && go mod download -json "$kserve")" ||
    unavailable "KServe's module can't be fetched"
  grep -qF "\"Sum\": \"$kserve_sum\"" <<<"$answer" || {
    echo "deploy-tools: $kserve has another sum than $kserve_sum" >&2
    exit 1
  }
  from="$(sed -n 's/.*"Dir": "\(.*\)".*/\1/p' <<<"$answer")"
  mkdir "$1/definitions" "$1/runtimes"
  local kind
  for kind in clusterservingruntimes servingruntimes inferenceservices; do
    cp "$from/config/crd/full/serving.kserve.io_$kind.yaml" "$1/definitions/"
  done
  cp "$from"/config/runtimes/kserve-{tritonserver,tensorflow-serving}.yaml "$1/runtimes/"
  (cd "$source_folder" && go build -ldflags="-s -w" -o "$1/" ./validate tool)
}

key="$({ find "$source_folder" -type f -print0 | sort -z | xargs -0 cat &&
  cat "${BASH_SOURCE[0]}" && go version; } | sha256sum | cut -c1-16)"
cached deploy-tools "$key" fill
