#!/bin/sh
# The image's entry point. Accepts the command lines of other servers' images, too, so that a KServe
# runtime can use this image with its existing arguments.
set -eu
serval=${SERVAL:-/opt/serval/bin/serval}
case ${1:-serve} in
  tritonserver | tensorflow_model_server | /usr/bin/tensorflow_model_server)
    shift
    exec "$serval" serve "$@"
    ;;
  --version | --help | -v | -h) exec "$serval" "$@" ;;
  -*) exec "$serval" serve "$@" ;;
  *) exec "$serval" "$@" ;;
esac
