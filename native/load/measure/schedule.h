// Description of a load: its target, its requests, and when they are sent. Data only; made by the
// control plane, read by the load's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace serval::load {

enum class Protocol : uint8_t { Http1, Http2 };

struct Target {
  std::string host;
  uint16_t port = 0;
  std::string unix_path;  // replaces host and port if it is not empty
  Protocol protocol = Protocol::Http1;
  bool tls = false;
  std::string tls_ca;  // PEM of the roots; "" = the system's
};

// How a response is judged. Http: by its status. Grpc: by grpc-status, and one message. GrpcStream:
// a call carries one request after the other, each answered by one message.
enum class Judged : uint8_t { Http, Grpc, GrpcStream };

struct Field {
  std::string name;
  std::string value;
};

// The requests. Header names are in lower case.
struct Traffic {
  Judged judged = Judged::Http;
  std::string method = "POST";
  std::string authority;
  std::string path;
  std::vector<Field> fields;
  std::vector<std::string> bodies;  // sent in turn; a gRPC message includes its prefix
  int64_t response_bytes = -1;      // a response of another length is an error; -1 = any length
};

struct Schedule {
  bool open_loop = false;
  size_t concurrency = 1;  // closed loop: requests in flight
  double rate = 0;         // open loop: requests per second
  bool poisson = false;    // open loop: arrivals of independent callers; else evenly spaced
  uint64_t seed = 1;
  uint64_t warmup_ns = 0;  // requests in this time do not count
  uint64_t measure_ns = 0;
  uint64_t grace_ns = 0;       // how long responses are awaited after the end
  uint64_t timeout_ns = 0;     // limit of one request; 0 = none
  uint64_t requests = 0;       // closed loop: the load ends after this many; 0 = by the clock
  size_t connections = 1;      // opened before the load begins
  size_t connections_max = 1;  // HTTP/1: limit when requests wait for a connection
  bool counts_late = false;    // responses after the end count too
  bool spins = false;          // the thread polls without sleeping
};

}  // namespace serval::load
