#!/usr/bin/env bash
# Builds the container image without a daemon and without a registry, by buildah: glibc, libstdc++
# and the certificates of this machine's Debian (from its packages), Node and Serval. There is no
# shell and no other program in it; it runs as user 65532 and writes to /tmp only.
# Usage: scripts/packaging/image.sh [FOLDER]      default: build/image
# Needs out/serval-*-linux-x64.tar.gz (`make package`). Writes FOLDER/rootfs and, as an OCI archive,
# FOLDER/serval-VERSION-image.tar. Exits with 77 and a reason if a tool or the network is missing.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
folder="${1:-$root/build/image}"
version="$(sed -nE 's/^  "version": "(.*)",$/\1/p' "$root/package.json")"
tarball="$root/out/serval-$version-linux-x64.tar.gz"
image="$(node -e "import('$root/scripts/packaging/artefacts/names.mjs')
  .then(({ NAMES }) => console.log(NAMES.image))")"
packages=(libc6 libgcc-s1 libstdc++6 ca-certificates)
rootfs="$folder/rootfs"

unavailable() {
  echo "image: $1" >&2
  exit 77
}

[ "$(id -u)" -eq 0 ] || unavailable "only root can build it without a daemon"
for tool in buildah dpkg-deb apt-get; do
  command -v "$tool" > /dev/null || unavailable "no $tool here"
done
[ -f "$tarball" ] || { echo "image: $tarball is missing: run \`make package\`" >&2; exit 1; }

# Unpacks a Debian package into the image, without its pages and without tables of character sets,
# and leaves its name for scanners of vulnerabilities, as distroless images do.
unpack() {
  local name
  name="$(dpkg-deb -f "$1" Package)"
  dpkg-deb --fsys-tarfile "$1" | tar -x -C "$rootfs" --keep-directory-symlink \
    --exclude='./usr/share/doc/*/*[!t]' --exclude='./usr/share/lintian' \
    --exclude='./usr/share/man' --exclude='./usr/share/locale' --exclude='*/gconv' \
    --exclude='./usr/sbin' --exclude='./etc/*'
  dpkg-deb -f "$1" > "$rootfs/var/lib/dpkg/status.d/$name"
}

base() {
  local part
  mkdir -p "$rootfs"/{etc/ssl/certs,tmp,models,var/lib/dpkg/status.d,usr/{bin,sbin,lib,lib64}}
  for part in bin sbin lib lib64; do ln -s "usr/$part" "$rootfs/$part"; done
  chmod 1777 "$rootfs/tmp"
  (cd "$folder/debs" && apt-get -qq -o APT::Sandbox::User=root download "${packages[@]}") ||
    unavailable "Debian's packages can't be fetched (see above)"
  for part in "$folder"/debs/*.deb; do unpack "$part"; done
  find "$rootfs/usr/share/ca-certificates/mozilla" -name '*.crt' -print0 | sort -z |
    xargs -0 cat > "$rootfs/etc/ssl/certs/ca-certificates.crt"
  rm -r "$rootfs/usr/share/ca-certificates"
  cp /usr/lib/os-release "$rootfs/usr/lib/os-release"
  ln -s ../usr/lib/os-release "$rootfs/etc/os-release"
  printf 'root:x:0:0::/nonexistent:\nserval:x:65532:65532::/nonexistent:\n' > "$rootfs/etc/passwd"
  printf 'root:x:0:\nserval:x:65532:\n' > "$rootfs/etc/group"
  echo 'hosts: files dns' > "$rootfs/etc/nsswitch.conf"
  ldconfig -r "$rootfs"
  rm -rf "$rootfs/var/cache"
}

program() {
  local home="$rootfs/opt/serval"
  mkdir -p "$home"
  tar -xzf "$tarball" -C "$home" --no-same-owner --strip-components=1 \
    --exclude='*/docs' --exclude='*/deploy' --exclude='*/examples' --exclude='*/man'
  rm "$home/bin/serval" "$home"/*.md
  install -m 644 "$root"/deploy/docker/{entrypoint,healthcheck}.mjs "$home/bin/"
  install -m 755 "$root/deploy/docker/serval.cjs" "$rootfs/usr/bin/serval"
  install -m 755 "$root/deploy/docker/sleep.cjs" "$rootfs/usr/bin/sleep"
}

# Every file has the time of the last commit, so that a rebuild gives the same layer.
commit() {
  local seconds container
  seconds="${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2> /dev/null || echo 0)}"
  find "$rootfs" -exec touch -h -d "@$seconds" {} +
  local storage=(--storage-driver vfs --root "$folder/storage" --runroot "$folder/run")
  container="$(buildah "${storage[@]}" from scratch)"
  buildah "${storage[@]}" add --quiet "$container" "$rootfs" / > /dev/null
  buildah "${storage[@]}" config --user 65532:65532 --port 8000/tcp --port 8001/tcp --workingdir / \
    --env PATH=/opt/serval/bin:/usr/bin \
    --label org.opencontainers.image.title=serval \
    --label "org.opencontainers.image.version=$version" \
    --label org.opencontainers.image.licenses=Apache-2.0 \
    --entrypoint '["/opt/serval/node/node", "/opt/serval/bin/entrypoint.mjs"]' \
    --cmd '["serve", "/models"]' "$container"
  # Kubernetes ignores the health check; Docker's format has it, OCI's does not.
  buildah "${storage[@]}" commit --quiet --rm --disable-compression=false \
    --timestamp "$seconds" "$container" \
    "oci-archive:$folder/serval-$version-image.tar:$image:$version" > /dev/null
  rm -rf "$folder/storage" "$folder/run"
}

rm -rf "$folder"
mkdir -p "$folder/debs" "$rootfs"
base
program
commit
rm -rf "$folder/debs"
bytes="$(stat -c %s "$folder/serval-$version-image.tar")"
echo "$folder/serval-$version-image.tar  $((bytes / 1000000)) MB compressed"
