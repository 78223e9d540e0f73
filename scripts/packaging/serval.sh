#!/bin/sh
# Runs Serval on the Node in the same folder. Needs no other program, except to follow a link to
# this file.
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
