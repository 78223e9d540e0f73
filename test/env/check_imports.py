"""Imports every client that the tests use, so that a broken lock fails when it is installed."""
import grpc
import grpc_health.v1.health_pb2
import grpc_reflection.v1alpha.reflection_pb2
import ml_dtypes
import numpy
import opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc
import prometheus_client.parser
import requests
import tritonclient
import tritonclient.grpc.aio
import tritonclient.http.aio

assert prometheus_client.parser and requests
assert opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc
assert grpc_health.v1.health_pb2 and grpc_reflection.v1alpha.reflection_pb2
assert tritonclient.grpc.aio and tritonclient.http.aio
print(f"python-env: grpc {grpc.__version__}, numpy {numpy.__version__}, "
      f"ml_dtypes {ml_dtypes.__version__}")
