#!/usr/bin/env bash
# Prints the path of ONNX Runtime's published C header (onnxruntime_c_api.h), for the test that
# compares our own declarations with it. Looks at $SERVAL_ORT_HEADER, then at an installed
# libonnxruntime-dev, then takes the Debian package of that name from trixie into the cache folder:
# with apt's own signature check, in an apt state of its own, so the system is not changed. Says why
# and exits 77 where none of these works. The header is never shipped.
set -euo pipefail

cache="${SERVAL_CACHE:-$HOME/.cache/serval}/ort-header"
name=onnxruntime_c_api.h

skip() {
  echo "fetch-ort-header: $1" >&2
  exit 77
}

if [ -n "${SERVAL_ORT_HEADER:-}" ]; then
  [ -f "$SERVAL_ORT_HEADER" ] || skip "SERVAL_ORT_HEADER names no file: $SERVAL_ORT_HEADER"
  echo "$SERVAL_ORT_HEADER"
  exit 0
fi

places=(/usr/include /usr/local/include "$cache/include")
found="$(find "${places[@]}" -name "$name" -print -quit 2>/dev/null || true)"
if [ -n "$found" ]; then
  echo "$found"
  exit 0
fi

command -v apt-get >/dev/null || skip "no $name here, and no apt-get to fetch it"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -f "$keyring" ] || skip "no $name here, and no $keyring to check a download with"

mkdir -p "$cache"
work="$(mktemp -d "$cache/apt-XXXXXX")"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/parts"
touch "$work/status"
# The mirror is the one that this system already takes its packages from.
mirror="$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
  sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb +(\[[^]]*\] +)?([^ ]+) .*/\2/p' |
  grep '/debian/*$' | head -1 || true)"
[ -n "$mirror" ] || skip "no $name here, and apt names no Debian mirror to fetch it from"
echo "deb [signed-by=$keyring] $mirror trixie main" >"$work/sources"
options=(-qq -o "Dir::State=$work" -o "Dir::State::lists=$work/lists"
  -o "Dir::State::status=$work/status"
  -o "Dir::Cache=$work" -o "Dir::Cache::archives=$work/archives"
  -o "Dir::Etc::sourcelist=$work/sources" -o "Dir::Etc::sourceparts=$work/parts"
  -o Acquire::Retries=2 -o Acquire::Languages=none -o APT::Sandbox::User=root)

apt-get "${options[@]}" update >"$work/log" 2>&1 ||
  skip "no $name here, and the package index of trixie cannot be read: $(tail -1 "$work/log")"
(cd "$work" && apt-get "${options[@]}" download libonnxruntime-dev >"$work/log" 2>&1) ||
  skip "no $name here, and libonnxruntime-dev cannot be downloaded: $(tail -1 "$work/log")"
mkdir "$work/unpacked"
dpkg-deb --extract "$work"/libonnxruntime-dev_*.deb "$work/unpacked"
header="$(find "$work/unpacked" -name "$name" -print -quit)"
[ -n "$header" ] || skip "libonnxruntime-dev of trixie holds no $name"

# The whole folder: the header includes its neighbours.
rm -rf "$cache/include"
mv "$(dirname "$header")" "$cache/include"
echo "$cache/include/$name"
