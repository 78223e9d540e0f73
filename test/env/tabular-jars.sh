#!/usr/bin/env bash
# Prints the folder of the Java libraries whose answers the tabular models are compared with
# (JPMML-Evaluator, MLeap's runtime, the Scala compiler; tabular-jars.xml), taking them through
# Maven where they are missing. Keyed by that file, in ${SERVAL_CACHE:-~/.cache/serval}, built
# beside its place and renamed. Exit 77 with a reason where there is no Java, no Maven or no
# network.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
list="$here/tabular-jars.xml"
cache="${SERVAL_CACHE:-$HOME/.cache/serval}"
key="$(sha256sum "$list" | cut -c1-16)"
folder="$cache/tabular-jars-$key"

if [ ! -e "$folder/complete" ]; then
  for tool in java mvn; do
    command -v "$tool" > /dev/null || { echo "tabular-jars: no $tool here" >&2; exit 77; }
  done
  echo "tabular-jars: making $folder" >&2
  mkdir -p "$cache"
  building="$(mktemp -d "$cache/tabular-jars-building-XXXXXX")"
  trap 'rm -rf "$building"' EXIT
  chmod 755 "$building"
  if ! mvn -q -B -f "$list" dependency:copy-dependencies -DoutputDirectory="$building" >&2; then
    echo "tabular-jars: Maven can't fetch the libraries here (see its words above)" >&2
    exit 77
  fi
  rm -rf "$here/target"
  touch "$building/complete"
  mv -T "$building" "$folder" 2>/dev/null || [ -e "$folder/complete" ]
fi
echo "$folder"
