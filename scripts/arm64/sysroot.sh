#!/usr/bin/env bash
# Unpacks Debian's arm64 packages that the addon and its tests are compiled against: headers and
# static libraries, and what programs for arm64 need to run under qemu. The machine's own packages
# and apt's settings stay as they are: apt gets its own lists and an empty status.
# Usage: scripts/arm64/sysroot.sh FOLDER      nothing happens if FOLDER is complete
# Exits with 77 and a reason if a tool or the network is missing.
set -euo pipefail

folder="$(mkdir -p "${1:?expected a folder}" && cd "$1" && pwd)"
packages=(
  # The C library and C++'s, from which also the cross-compiler's copies were made.
  libc6 libgcc-s1 libstdc++6
  libflatbuffers-dev libeigen3-dev node-llhttp
  libjpeg62-turbo-dev libpng-dev zlib1g-dev libnghttp2-dev
  libssl-dev libssl3 libgtest-dev
)
wanted="$(printf '%s\n' "${packages[@]}")"

unavailable() {
  echo "arm64: $1" >&2
  exit 77
}

for tool in apt-get dpkg-deb; do
  command -v "$tool" > /dev/null || unavailable "no $tool here"
done
if [ "$(cat "$folder/complete" 2> /dev/null)" = "$wanted" ]; then exit 0; fi
rm -rf "$folder"
mkdir -p "$folder"/apt/{lists/partial,cache/archives/partial} "$folder"/{debs,root}
: > "$folder/apt/status"
apt=(
  apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64
  -o "Dir::State=$folder/apt" -o "Dir::State::lists=$folder/apt/lists"
  -o "Dir::State::status=$folder/apt/status" -o "Dir::Cache=$folder/apt/cache"
  -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3
)
# A source without packages for arm64 does not matter: the download decides.
"${apt[@]}" update > "$folder/apt/log" 2>&1 || true
(cd "$folder/debs" && "${apt[@]}" download "${packages[@]}" >> "$folder/apt/log" 2>&1) || {
  tail -5 "$folder/apt/log" >&2
  unavailable "Debian's packages for arm64 can't be fetched (see above)"
}
for deb in "$folder"/debs/*.deb; do
  dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$folder/root" --keep-directory-symlink \
    --exclude='./usr/share/doc' --exclude='./usr/share/man' --exclude='./usr/share/locale'
done
# ONNX Runtime reads the processors there as it is loaded, and qemu 7.2 would show those of x86-64.
mkdir -p "$folder/root/proc"
for ((i = 0; i < $(getconf _NPROCESSORS_CONF); i++)); do
  printf 'processor\t: %d\n' "$i"
  printf 'Features\t: fp asimd aes crc32 atomics fphp asimdhp asimdrdm asimddp\n'
  printf 'CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\n'
  printf 'CPU part\t: 0xd0c\nCPU revision\t: 1\n\n' # a Neoverse N1
done > "$folder/root/proc/cpuinfo"
rm -rf "$folder/debs" "$folder/apt"
printf '%s' "$wanted" > "$folder/complete"
