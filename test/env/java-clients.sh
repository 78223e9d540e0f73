#!/usr/bin/env bash
# Makes the Java client of test/clients where it is missing, with stubs of our .proto files, and
# prints the class path that has it and grpc-java's interop client (one line); see cached.sh and
# grpc-jars.xml. Exit 77 with a reason where there is no Java, no Maven or no network.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
java_sources="$(dirname "$here")/clients/java"
protos="$(dirname "$(dirname "$here")")/proto/wire"
wanted=(inference.proto model_config.proto tensorflow.proto tensorflow_error.proto
  tensorflow_serving.proto)
source "$here/cached.sh"

command -v javac > /dev/null || {
  echo "java-clients: no javac here; Debian's is default-jdk-headless" >&2
  exit 77
}
[ "$(uname -sm)" = "Linux x86_64" ] ||
  { echo "java-clients: the generators are for Linux x86_64, this is $(uname -sm)" >&2; exit 77; }
jars="$("$here/tabular-jars.sh" grpc)"

# Any and wrappers are protobuf's own: the ones of proto/wire are the same and are left out.
fill() {
  local work="$1/work" options=()
  mkdir -p "$work/protos" "$work/bin" "$work/stubs"
  for name in "${wanted[@]}"; do
    # One class for each message, as in the packages that others publish.
    { cat "$protos/$name" && echo 'option java_multiple_files = true;'; } > "$work/protos/$name"
  done
  cp "$jars"/protoc-[0-9]*.exe "$work/bin/protoc"
  cp "$jars"/protoc-gen-grpc-java-*.exe "$work/bin/protoc-gen-grpc-java"
  chmod 755 "$work/bin/"*
  (cd "$work" && jar xf "$jars"/protobuf-java-3.*.jar google/protobuf)
  options=(-I "$work/protos" -I "$work" --java_out="$work/stubs" --grpc-java_out="$work/stubs")
  PATH="$work/bin:$PATH" "$work/bin/protoc" "${options[@]}" "${wanted[@]}"
  mkdir -p "$1/classes"
  find "$work/stubs" "$java_sources" -name '*.java' > "$work/files"
  javac -nowarn -proc:none -Xlint:none -cp "$jars/*" -d "$1/classes" "@$work/files"
  rm -rf "$work"
}

sources="$(find "$java_sources" "$protos" "$here/grpc-jars.xml" -type f | sort)"
# shellcheck disable=SC2086  # no blanks in their names
key="$({ java -version 2>&1 && cat "$0" $sources; } | sha256sum | cut -c1-16)"
echo "$(cached java-client "$key" fill)/classes:$jars/*"
