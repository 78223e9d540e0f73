#!/bin/sh
# What the image runs. The words with which other servers' images are started are taken too, so that
# a runtime of KServe's may name this image and keep its arguments.
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
