#!/usr/bin/env bash
# Prints the folder of the Java libraries whose answers the tabular models are compared with
# (JPMML-Evaluator, MLeap's runtime, the Scala compiler; tabular-jars.xml), taking them through
# Maven where they are missing. Keyed by that file; see cached.sh. Exit 77 with a reason where there
# is no Java, no Maven or no network.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
list="$here/tabular-jars.xml"
source "$here/cached.sh"

fill() {
  for tool in java mvn; do
    command -v "$tool" > /dev/null || { echo "tabular-jars: no $tool here" >&2; exit 77; }
  done
  if ! mvn -q -B -f "$list" dependency:copy-dependencies -DoutputDirectory="$1"; then
    echo "tabular-jars: Maven can't fetch the libraries here (see its words above)" >&2
    exit 77
  fi
  rm -rf "$here/target"
}

cached tabular-jars "$(sha256sum "$list" | cut -c1-16)" fill
