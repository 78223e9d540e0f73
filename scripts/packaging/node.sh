#!/usr/bin/env bash
# Prints the folder of the Node.js that make uses for everything. That is the machine's own if it
# has the major version of .node-version and is at least as new; else npm's build of exactly that
# version, checked against its digest and kept in ~/.cache/serval (or $SERVAL_CACHE). A machine
# without any Node gets Debian's first, which is only used to fetch the other.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
wanted="$(cat "$here/../../.node-version")"

# Returns whether the machine's node and npm are new enough.
is_usable() {
  local version
  version="$(node --version 2>/dev/null)" && command -v npm >/dev/null || return 1
  version="${version#v}"
  [ "${version%%.*}" = "${wanted%%.*}" ] &&
    [ "$(printf '%s\n' "$wanted" "$version" | sort -V | head -1)" = "$wanted" ]
}

# Installs Debian's Node and npm, if there is none and this is root on Debian.
install_any() {
  local packages=(nodejs npm)
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null || [ "${SERVAL_APT:-}" = never ]; then
    echo "serval: Node.js and npm are missing: install Node.js $wanted or newer," \
      "https://nodejs.org" >&2
    return 1
  fi
  echo "serval: running apt-get install -y --no-install-recommends ${packages[*]}" >&2
  apt-get -qq update >&2 || true
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
    "${packages[@]}" >&2
}

if is_usable; then
  dirname "$(command -v node)"
  exit 0
fi
{ command -v node && command -v npm; } >/dev/null || install_any
arch=x64
[ "$(uname -m)" != aarch64 ] || arch=arm64
folder="${SERVAL_CACHE:-$HOME/.cache/serval}/node-$wanted-linux-$arch"
[ -x "$folder/node" ] || echo "serval: fetching Node.js $wanted from npm" >&2
exec node "$here/node-runtime.mjs" "${wanted%%.*}"
