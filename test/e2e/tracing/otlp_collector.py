"""A collector of traces: takes OTLP over HTTP and gRPC with OpenTelemetry's own generated messages,
and writes each request as a line of JSON. The first line has its ports. What is no such message,
has fields that the protocol does not know, or breaks its rules is an error, in the line and in the
answer. Ends with its standard input. Test time only."""
import concurrent.futures
import gzip
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
from google.protobuf.json_format import MessageToDict
from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

REQUEST = trace_service_pb2.ExportTraceServiceRequest
RESPONSE = trace_service_pb2.ExportTraceServiceResponse
lines = threading.Lock()


def say(**what):
    with lines:
        print(json.dumps(what), flush=True)


def unknown_fields(message, where):
    """The places of fields that are not of the protocol."""
    found = [where] if len(UnknownFieldSet(message)) > 0 else []
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        for each in value if field.is_repeated else [value]:
            found += unknown_fields(each, f"{where}.{field.name}")
    return found


def problems_of(request):
    """What breaks the protocol's rules. Source: opentelemetry-proto, trace.proto."""
    found = unknown_fields(request, "request")
    for resource_spans in request.resource_spans:
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                if len(span.trace_id) != 16 or not any(span.trace_id):
                    found.append(f"{span.name}: trace_id")
                if len(span.span_id) != 8 or not any(span.span_id):
                    found.append(f"{span.name}: span_id")
                if len(span.parent_span_id) not in (0, 8):
                    found.append(f"{span.name}: parent_span_id")
                if span.start_time_unix_nano == 0 or \
                        span.end_time_unix_nano < span.start_time_unix_nano:
                    found.append(f"{span.name}: times")
                if span.name == "":
                    found.append("a span without a name")
                for link in span.links:
                    if len(link.trace_id) != 16 or len(link.span_id) != 8:
                        found.append(f"{span.name}: link")
    return found


def take(transport, request, headers):
    problems = problems_of(request)
    say(transport=transport, problems=problems, headers=headers, request=MessageToDict(request))
    return problems


class Http(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers["Content-Length"]))
        parts = []
        while size := int(self.rfile.readline().strip(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def do_POST(self):
        body = self.body()
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        request = REQUEST()
        status = 200
        try:
            if self.path != "/v1/traces":
                raise ValueError(f"path {self.path}")
            if self.headers["Content-Type"] != "application/x-protobuf":
                raise ValueError(f"content type {self.headers['Content-Type']}")
            request.ParseFromString(body)
            if take("http", request, dict(self.headers.items())):
                status = 400
        except Exception as error:  # whatever is wrong is the test's to see
            say(transport="http", problems=[str(error)], headers={}, request={})
            status = 400
        answer = RESPONSE().SerializeToString()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Grpc(trace_service_pb2_grpc.TraceServiceServicer):
    def Export(self, request, context):
        headers = {key: str(value) for key, value in context.invocation_metadata()}
        if take("grpc", request, headers):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not the protocol")
        return RESPONSE()


def main():
    http = ThreadingHTTPServer(("127.0.0.1", 0), Http)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=4))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Grpc(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    say(http=http.server_address[1], grpc=port)
    sys.stdin.read()
    server.stop(None)


if __name__ == "__main__":
    main()
