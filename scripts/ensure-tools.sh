#!/usr/bin/env bash
# Checks that the tools outside npm are installed, by group: build, test, bench. Each missing tool
# is named with its Debian package. For root on a machine with apt they are installed; otherwise the
# exact command is printed and the exit status is 1. Optional tools are treated the same, except
# that nothing fails without them: the output says what will be unavailable. Node is chosen by
# scripts/packaging/node.sh.
# Usage: scripts/ensure-tools.sh GROUP...     SERVAL_APT=never only names missing tools.
set -euo pipefail

gcc_major_min=10
clang_major_min=14
read -ra cxx <<<"${CXX:-c++}"
missing_packages=()
missing_lines=()
wanted_packages=()
wanted_lines=()
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# need PACKAGE "purpose" COMMAND...: runs COMMAND; if it fails, records PACKAGE as missing.
need() {
  local package="$1" purpose="$2"
  shift 2
  "$@" >/dev/null 2>&1 && return 0
  missing_packages+=("$package")
  missing_lines+=("  $package: $purpose")
}

# want PACKAGE "unavailable feature" COMMAND...: the same, but nothing fails for it.
want() {
  local package="$1" purpose="$2"
  shift 2
  "$@" >/dev/null 2>&1 && return 0
  wanted_packages+=("$package")
  wanted_lines+=("  $package: $purpose")
}

has() { command -v "$1"; }

# Debian installs both outside of the PATH of ordinary users.
has_nginx() { has nginx || [ -x /usr/sbin/nginx ]; }
has_haproxy() { has haproxy || [ -x /usr/sbin/haproxy ]; }

# jpeglib.h must be included after <cstdio>.
has_header_after() { printf '#include <%s>\n' "$@" | "${cxx[@]}" -std=c++20 -x c++ -E - ; }
has_header() { echo "#include <$1>" | "${cxx[@]}" -std=c++20 -x c++ -E - ; }

# Checks for a static library by linking a program with it.
has_static_library() {
  echo 'int main() { return 0; }' | "${cxx[@]}" -x c++ - "-l:lib$1.a" -o "$scratch/linked"
}

# Checks for the C sources that are compiled in, and their header.
has_llhttp() { [ -f /usr/share/llhttp/llhttp.c ] && [ -f /usr/share/include/llhttp/llhttp.h ]; }

has_nghttp2() { has_header nghttp2/nghttp2.h && has_static_library nghttp2; }

# Checks that the compiler is new enough: GCC 10 or Clang 14 (both support our C++20).
has_cxx20() {
  local version
  version="$("${cxx[@]}" -dumpversion)" || return 1
  if "${cxx[@]}" --version | grep -qi clang; then
    [ "${version%%.*}" -ge "$clang_major_min" ]
  else
    [ "${version%%.*}" -ge "$gcc_major_min" ]
  fi
}

has_python() { python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))'; }

# Checks for Debian's package, which belongs to the system's Python, without importing it: an import
# takes seconds.
has_torch() {
  /usr/bin/python3 -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("torch"))'
}

has_cmake() {
  local version
  version="$(cmake --version | sed -n 's/^cmake version //p')" || return 1
  [ "$(printf '3.20\n%s\n' "$version" | sort -V | head -1)" = 3.20 ]
}

# Checks that clang has its own runtime library, which the fuzzers need.
has_libfuzzer() {
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    clang++-14 -fsanitize=fuzzer,address -x c++ - -o "$scratch/fuzzer"
}

check_node() {
  if ! has node >/dev/null || ! has npm >/dev/null; then
    echo "serval: Node.js with npm is missing: https://nodejs.org" >&2
    exit 1
  fi
}

check_group() {
  case "$1" in
    build)
      check_node
      need g++ "C++20: ${cxx[*]} must be GCC $gcc_major_min or Clang $clang_major_min" has_cxx20
      need cmake "the native build, 3.20 or newer" has_cmake
      need make "the native build" has make
      need libflatbuffers-dev "headers of the schemas that both languages share" \
        has_header flatbuffers/flatbuffers.h
      need libjpeg62-turbo-dev "JPEG images" has_header_after cstdio jpeglib.h
      need libpng-dev "PNG images" has_header png.h
      need zlib1g-dev "PNG images" has_header zlib.h
      need libeigen3-dev "matrices and Fourier transforms" has_header eigen3/Eigen/Core
      need binutils "the addon's static image libraries" has objcopy
      need libnghttp2-dev "HTTP/2, for gRPC and REST" has_nghttp2
      need libssl-dev "TLS headers" has_header openssl/ssl.h
      need node-llhttp "the parser of HTTP/1" has_llhttp
      ;;
    test)
      need libgtest-dev "GoogleTest, for the native tests" has_header gtest/gtest.h
      need ccache "a cache that several builds share" has ccache
      need ninja-build "parallel builds of selected native tests" has ninja
      local java="clients and evaluators in Java; their tests are skipped"
      want default-jdk-headless "$java" has javac
      want maven "$java" has mvn
      want chromium "Chromium; tests of the console are skipped" has chromium
      want zsh "zsh; a test of its completion is skipped" has zsh
      want fish "fish; a test of its completion is skipped" has fish
      want groff-base "groff; a test of the manual page is skipped" has groff
      want python3-torch "PyTorch; its quick start is skipped" has_torch
      want prometheus "Prometheus; tests of the dashboard and its alerts are skipped" has promtool
      want nginx-light "nginx; tests that compare HTTP framing or use a proxy are skipped" \
        has_nginx
      want haproxy "HAProxy; its test as a proxy is skipped" has_haproxy
      want wrk "wrk; its test is skipped" has wrk
      want nghttp2-client "h2load; its test is skipped" has h2load
      want apache2-utils "ab; its test is skipped" has ab
      need python3-venv "Python 3.10 or newer, for the official clients in test/e2e" has_python
      need curl "test/e2e" has curl
      need openssl "certificates for tests of TLS" has openssl
      need flatbuffers-compiler "flatc, to check that generated code is fresh" has flatc
      need clang-14 "the fuzz targets" has clang++-14
      need clang-format-14 "formatting of C++ sources" has clang-format-14
      need llvm-14 "readable stacks in sanitizer reports" has llvm-symbolizer-14
      need libclang-rt-14-dev "libFuzzer and sanitizer runtimes" has_libfuzzer
      ;;
    bench)
      need wrk "HTTP load" has wrk
      need nghttp2-client "gRPC load (h2load)" has h2load
      need libnghttp2-dev "gRPC load at a fixed rate" has_nghttp2
      local echo_server="gRPC's own C++ server; rows that are measured against it are skipped"
      want nginx-light "nginx, to terminate TLS; rows measured against it are skipped" \
        has_nginx
      want libgrpc++-dev "$echo_server" has_header grpcpp/grpcpp.h
      want protobuf-compiler-grpc "$echo_server" has grpc_cpp_plugin
      need protobuf-compiler "protoc, for the comparison with protobuf's own C++" has protoc
      need libprotobuf-dev "protobuf's own C++, for the same comparison" \
        has_header google/protobuf/message.h
      ;;
    *)
      echo "ensure-tools: unknown group '$1'; expected build, test or bench" >&2
      exit 2
      ;;
  esac
}

check_all() {
  missing_packages=()
  missing_lines=()
  wanted_packages=()
  wanted_lines=()
  local group
  for group in "$@"; do check_group "$group"; done
}

# Prints the optional packages that are missing; nothing fails for them.
tell_wanted() {
  [ ${#wanted_packages[@]} -gt 0 ] || return 0
  echo "serval: these optional packages are missing, continuing without them:" >&2
  printf '%s\n' "${wanted_lines[@]}" >&2
}

# Prints the packages of both lists, each once.
all_packages() {
  printf '%s\n' ${missing_packages[@]+"${missing_packages[@]}"} \
    ${wanted_packages[@]+"${wanted_packages[@]}"} | awk 'NF && !seen[$0]++'
}

[ $# -gt 0 ] || { echo "usage: ensure-tools.sh GROUP... (build, test, bench)" >&2; exit 2; }
check_all "$@"
mapfile -t packages < <(all_packages)
[ ${#packages[@]} -gt 0 ] || exit 0

if [ ${#missing_packages[@]} -gt 0 ]; then
  echo "serval: these packages are missing:" >&2
  printf '%s\n' "${missing_lines[@]}" >&2
fi
install="apt-get install -y --no-install-recommends ${packages[*]}"
if [ "$(id -u)" -ne 0 ] || ! has apt-get >/dev/null || [ "${SERVAL_APT:-}" = never ]; then
  tell_wanted
  if has apt-get >/dev/null; then
    [ "$(id -u)" -eq 0 ] || install="sudo $install"
    echo "serval: install them with:  $install" >&2
  else
    echo "serval: the names are Debian's; install the equivalents with your package manager" >&2
  fi
  [ ${#missing_packages[@]} -eq 0 ] || exit 1
  exit 0
fi

log="$scratch/apt.log"
apt_options=(-qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120)
# Retries are off if only optional packages are missing: without a network, every build would wait
# here.
[ ${#missing_packages[@]} -gt 0 ] || apt_options=(-qq -o Acquire::Retries=0)
export DEBIAN_FRONTEND=noninteractive

# install PACKAGE...: exit status 1 if apt-get fails.
install() {
  echo "serval: running apt-get install -y --no-install-recommends $*" >&2
  apt-get "${apt_options[@]}" install -y --no-install-recommends "$@" >>"$log" 2>&1
}

# A package index that cannot be read (a third-party source, say) does not stop the installation.
apt-get "${apt_options[@]}" update >"$log" 2>&1 || true
if [ ${#missing_packages[@]} -gt 0 ] && ! install "${missing_packages[@]}"; then
  tail -20 "$log" >&2
  echo "serval: apt-get failed to install them; its last lines are above" >&2
  exit 1
fi
# Installed separately, so that a missing optional package fails nothing.
check_all "$@"
[ ${#wanted_packages[@]} -eq 0 ] || install "${wanted_packages[@]}" || true

check_all "$@"
tell_wanted
if [ ${#missing_packages[@]} -gt 0 ]; then
  echo "serval: installed, but still not usable:" >&2
  printf '%s\n' "${missing_lines[@]}" >&2
  exit 1
fi
