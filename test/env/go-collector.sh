#!/usr/bin/env bash
# Makes OpenTelemetry's collector of test/e2e/tracing/otelcol where it is missing, and prints its
# folder, keyed by its source and lock; see cached.sh. Exit 77 with a reason where there is no Go or
# no network.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source_folder="$(dirname "$here")/e2e/tracing/otelcol"
source "$here/cached.sh"

unavailable() {
  echo "go-collector: $1" >&2
  exit 77
}

command -v go > /dev/null || unavailable "no go here; Debian's is golang-go"
export GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0

fill() {
  (cd "$source_folder" && go mod download) || unavailable "the modules can't be fetched (see above)"
  (cd "$source_folder" && go build -trimpath -ldflags="-s -w" -o "$1/collector" .)
}

key="$({ cat "$source_folder"/* && go version; } | sha256sum | cut -c1-16)"
cached go-collector "$key" fill
