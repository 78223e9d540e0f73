#!/usr/bin/env bash
# Makes a minimal Debian for the tests of packages where it is missing, and prints the folder of its
# root.tar: the essential packages and what our package depends on. Exits with 77 and a reason where
# there is no mmdebstrap or no network.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$here/cached.sh"

release=bookworm
include=adduser,libstdc++6

unavailable() {
  echo "debian-root: $1" >&2
  exit 77
}

[ "$(id -u)" -eq 0 ] || unavailable "only root can make a Debian"
command -v mmdebstrap > /dev/null || unavailable "no mmdebstrap here; Debian has a package"

fill() {
  mmdebstrap --quiet --mode=root --variant=essential --include="$include" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$release" "$1/root.tar" || unavailable "Debian's packages can't be fetched (see above)"
}

key="$(sha256sum < "${BASH_SOURCE[0]}" | cut -c1-16)"
cached debian-root "$key" fill
