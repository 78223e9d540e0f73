#!/usr/bin/env bash
# Prints the folder of the Java libraries whose answers the tabular models are compared with
# (JPMML-Evaluator, MLeap's runtime, the Scala compiler; tabular-jars.xml), taking them through
# Maven where they are missing: tabular-jars.sh [LIST], which is another LIST-jars.xml here. Keyed
# by that file; see cached.sh. Exit 77 with a reason where there is no Java, no Maven or no network.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
name="${1:-tabular}-jars"
list="$here/$name.xml"
source "$here/cached.sh"

fill() {
  for tool in java mvn; do
    command -v "$tool" > /dev/null || { echo "$name: no $tool here" >&2; exit 77; }
  done
  if ! mvn -q -B -f "$list" dependency:copy-dependencies -DoutputDirectory="$1"; then
    echo "$name: Maven can't fetch the libraries here (see its words above)" >&2
    exit 77
  fi
  rm -rf "$here/target"
}

cached "$name" "$(sha256sum "$list" | cut -c1-16)" fill
