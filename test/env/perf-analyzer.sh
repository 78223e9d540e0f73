#!/usr/bin/env bash
# Makes Triton's perf_analyzer runnable and prints the path of the program to call (one line): a
# small script that sets the library path. The binary is inside the wheel tritonclient 2.49.0
# (newer wheels lack it); it needs libcudart.so.12, from the wheel nvidia-cuda-runtime-cu12, and
# libb64.so.0d, Debian's libb64-0d. Nothing is installed: files are unpacked once into
# ${SERVAL_CACHE:-$HOME/.cache/serval}/perf-analyzer-<versions>. Where a part cannot be had, says
# why and exits 77. $SERVAL_PERF_ANALYZER names another program.
set -euo pipefail

client=2.49.0
runtime=12.9.79
python="${PYTHON:-python3}"
cache="${SERVAL_CACHE:-$HOME/.cache/serval}"
folder="$cache/perf-analyzer-$client-$runtime"
program="$folder/perf_analyzer"

skip() {
  echo "perf-analyzer: $1" >&2
  exit 77
}

if [ -n "${SERVAL_PERF_ANALYZER:-}" ]; then
  [ -x "$SERVAL_PERF_ANALYZER" ] ||
    skip "SERVAL_PERF_ANALYZER names no program: $SERVAL_PERF_ANALYZER"
  echo "$SERVAL_PERF_ANALYZER"
  exit 0
fi
if [ -e "$folder/complete" ]; then
  echo "$program"
  exit 0
fi
[ "$(uname -sm)" = "Linux x86_64" ] || skip "the binary is for Linux x86_64, this is $(uname -sm)"

mkdir -p "$cache"
work="$(mktemp -d "$cache/perf-analyzer-XXXXXX")"
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

fetch() {
  "$python" -m pip download --quiet --disable-pip-version-check --retries 3 --timeout 30 \
    --no-deps --only-binary :all: --platform "$1" --dest "$work/wheels" "$2" \
    >"$work/log" 2>&1 || skip "$2 cannot be downloaded: $(tail -1 "$work/log")"
}
fetch manylinux1_x86_64 "tritonclient==$client"
fetch manylinux2014_x86_64 "nvidia-cuda-runtime-cu12==$runtime"
mkdir -p "$work/made/lib" "$work/unpacked"
for wheel in "$work"/wheels/*.whl; do "$python" -m zipfile -e "$wheel" "$work/unpacked"; done

# Copies a file of the wheels to its place, or says that it is not in them.
place() {
  local found
  found="$(find "$work/unpacked" -name "$1" -type f -print -quit)"
  [ -n "$found" ] || skip "no $1 in the wheels"
  cp "$found" "$2"
}
place perf_analyzer "$work/made/perf_analyzer.bin"
place libcudart.so.12 "$work/made/lib/libcudart.so.12"
chmod 755 "$work/made/perf_analyzer.bin"

# The system's libb64, or the package of that name, unpacked here.
if ! ldconfig -p 2>/dev/null | grep -q 'libb64\.so\.0d'; then
  command -v apt-get >/dev/null || skip "no libb64.so.0d here, and no apt-get to fetch it"
  (cd "$work" && apt-get -o APT::Sandbox::User=root download libb64-0d >"$work/log" 2>&1) ||
    skip "libb64-0d cannot be downloaded: $(tail -1 "$work/log")"
  dpkg-deb --extract "$work"/libb64-0d_*.deb "$work/unpacked/b64"
  found="$(find "$work/unpacked/b64" -name 'libb64.so.0d' -print -quit)"
  [ -n "$found" ] || skip "libb64-0d holds no libb64.so.0d"
  cp -L "$found" "$work/made/lib/libb64.so.0d"
fi

cat >"$work/made/perf_analyzer" <<'PROGRAM'
#!/usr/bin/env bash
# perf_analyzer with the libraries beside it.
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
  exec "$here/perf_analyzer.bin" "$@"
PROGRAM
chmod 755 "$work/made/perf_analyzer"
"$work/made/perf_analyzer" --version >"$work/log" 2>&1 ||
  skip "the binary does not run: $(tail -1 "$work/log")"
touch "$work/made/complete"

# Another run may have been faster: then its folder is as good as ours.
mv -T "$work/made" "$folder" 2>/dev/null || [ -e "$folder/complete" ]
echo "$program"
