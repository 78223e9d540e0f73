#!/bin/sh
# Runs Serval on the Node that lies beside it. Needs no other program, but where a link leads here.
set -eu
self=$0
while [ -h "$self" ]; do
  link=$(readlink "$self")
  case $link in
    /*) self=$link ;;
    *) self=${self%/*}/$link ;;
  esac
done
home=${self%/*}/..
exec "$home/node/node" "$home/bin/serval.mjs" "$@"
