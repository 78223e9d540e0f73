#!/usr/bin/env bash
# Makes the Go programs of test/clients where they are missing, and prints two folders: that of the
# programs others wrote (grpcurl, h2spec, gRPC's interop client, the generators of stubs), keyed by
# the module's lock, and that of our client, keyed by its source and the .proto files too; see
# cached.sh. Exit 77 with a reason where there is no Go or no network.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source_folder="$(dirname "$here")/clients/go"
protos="$(dirname "$(dirname "$here")")/proto/wire"
source "$here/cached.sh"

unavailable() {
  echo "go-clients: $1" >&2
  exit 77
}

command -v go > /dev/null || unavailable "no go here; Debian's is golang-go"
export GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0

fill_tools() {
  (cd "$source_folder" && go mod download) || unavailable "the modules can't be fetched (see above)"
  (cd "$source_folder" && go build -o "$1/" tool)
}

# Stubs are made beside a copy of our client, which is then one program.
fill_client() {
  local tools="$1" folder="$2" work="$2/source"
  cp -r "$source_folder" "$work"
  (cd "$work" && go build -o generator ./generate && ./generator "$protos" "$tools" "$work")
  (cd "$work" && go build -o "$folder/client" ./client)
  rm -rf "$work"
}

key_of() { sha256sum | cut -c1-16; }
lock="$({ cat "$source_folder/go.mod" "$source_folder/go.sum" && go version; } | key_of)"
sources="$(find "$source_folder" "$protos" -type f | sort)"
tools="$(cached go-tools "$lock" fill_tools)"
# shellcheck disable=SC2086  # no blanks in their names
key="$({ echo "$lock" && cat $sources; } | key_of)"
client="$(cached go-client "$key" fill_client "$tools")"
echo "$tools"
echo "$client"
