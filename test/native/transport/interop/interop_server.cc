// gRPC's interoperability service (grpc.testing.TestService) over the unmodified listener, for
// gRPC's own interop clients: test/clients/interop.test.ts builds and runs it. Its messages are
// read and written by hand, without generated code. Handlers run on the listener's threads. Test
// time only. Source: interop-test-descriptions.md of github.com/grpc/grpc.
//
//   interop_server [--threads N] [--compression LEVEL] [--certificate FILE --key FILE]
//
// Prints "port N" and serves until its standard input ends. Bad arguments: exit 2.
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes/views.h"
#include "base/bytes/wire_reader.h"
#include "base/bytes/wire_writer.h"
#include "base/memory_budget.h"
#include "transport/listener.h"

namespace serval {
namespace {

constexpr uint64_t kResponseBytesMax = 64u << 20;

enum Method : uint32_t {
  EmptyCall,
  UnaryCall,
  StreamingOutputCall,
  StreamingInputCall,
  FullDuplexCall,
  HalfDuplexCall,
};

struct Row {
  std::string_view name;
  bool client_streams;
  bool server_streams;
};

// Indexed by Method. UnimplementedCall is omitted, because clients must get that status.
constexpr std::array<Row, 6> kMethods{{
    {"EmptyCall", false, false},
    {"UnaryCall", false, false},
    {"StreamingOutputCall", false, true},
    {"StreamingInputCall", true, false},
    {"FullDuplexCall", true, true},
    {"HalfDuplexCall", true, true},
}};
constexpr std::string_view kServerId = "interop_server";
constexpr std::string_view kService = "/grpc.testing.TestService/";

// The fields that the test cases use of SimpleRequest, StreamingInputCallRequest and
// StreamingOutputCallRequest. Intervals between responses are ignored: no case checks them.
struct Request {
  uint64_t response_bytes = 0;      // from SimpleRequest
  std::vector<uint64_t> responses;  // from StreamingOutputCallRequest
  uint64_t payload_bytes = 0;       // what the client sent
  bool server_id = false;           // whether the response is to name the server
  std::optional<int> status;        // the status that the client requested
  std::string_view status_message;
};

// Calls `take` for each field; false if the bytes are not a message.
template <typename Take>
bool each_field(std::span<const uint8_t> message, const Take& take) {
  WireFault fault;
  WireReader reader(message, message.data(), fault);
  WireField field;
  while (reader.next(field)) {
    if (!take(field)) return false;
  }
  return fault.reason == nullptr;
}

bool read_payload(std::span<const uint8_t> message, uint64_t& bytes) {
  return each_field(message, [&](const WireField& field) {
    if (field.tag == wire_tag(2, WireType::Bytes)) bytes = field.bytes.size();
    return true;
  });
}

bool read_status(std::span<const uint8_t> message, Request& request) {
  request.status = 0;
  return each_field(message, [&](const WireField& field) {
    if (field.tag == wire_tag(1, WireType::Varint)) request.status = static_cast<int>(field.value);
    if (field.tag == wire_tag(2, WireType::Bytes)) {
      request.status_message = {reinterpret_cast<const char*>(field.bytes.data()),
                                field.bytes.size()};
    }
    return true;
  });
}

bool read_parameters(std::span<const uint8_t> message, Request& request) {
  request.responses.push_back(0);
  return each_field(message, [&](const WireField& field) {
    if (field.tag == wire_tag(1, WireType::Varint)) request.responses.back() = field.value;
    return true;
  });
}

bool read_simple(std::span<const uint8_t> message, Request& request) {
  return each_field(message, [&](const WireField& field) {
    switch (field.tag) {
      case wire_tag(2, WireType::Varint): request.response_bytes = field.value; return true;
      case wire_tag(3, WireType::Bytes): return read_payload(field.bytes, request.payload_bytes);
      case wire_tag(7, WireType::Bytes): return read_status(field.bytes, request);
      case wire_tag(9, WireType::Varint): request.server_id = field.value != 0; return true;
      default: return true;
    }
  });
}

bool read_streaming_output(std::span<const uint8_t> message, Request& request) {
  return each_field(message, [&](const WireField& field) {
    switch (field.tag) {
      case wire_tag(2, WireType::Bytes): return read_parameters(field.bytes, request);
      case wire_tag(3, WireType::Bytes): return read_payload(field.bytes, request.payload_bytes);
      case wire_tag(7, WireType::Bytes): return read_status(field.bytes, request);
      default: return true;
    }
  });
}

bool read_streaming_input(std::span<const uint8_t> message, uint64_t& bytes) {
  return each_field(message, [&](const WireField& field) {
    return field.tag != wire_tag(1, WireType::Bytes) || read_payload(field.bytes, bytes);
  });
}

// A response whose payload (field 1) contains `count` zeros (its field 2); `server_id`: field 4 of
// SimpleResponse.
bool write_response(uint64_t count, std::string_view server_id, ByteBuffer& out) {
  const uint64_t payload = wire_field_bytes(count);
  uint8_t* place = out.grow(wire_field_bytes(payload) + wire_text_bytes(server_id));
  if (place == nullptr) return false;
  WireWriter writer{place};
  writer.head(1, payload);
  writer.head(2, count);
  std::memset(writer.at, 0, count);
  writer.at += count;
  writer.text(4, server_id);
  return true;
}

class TestService : public CallHandler {
 public:
  explicit TestService(CallThread& thread) : thread_(thread) {}

  std::optional<MethodKind> find(std::string_view path) override {
    if (!path.starts_with(kService)) return std::nullopt;
    path.remove_prefix(kService.size());
    for (uint32_t i = 0; i < kMethods.size(); ++i) {
      const Row& row = kMethods[i];
      if (row.name == path) return MethodKind{i, row.client_streams, row.server_streams, row.name};
    }
    return std::nullopt;
  }

  void begin(Call& call) override {
    for (const MetadataEntry& entry : call.metadata()) {
      if (entry.name == "x-grpc-test-echo-initial") {
        call.add_initial_metadata(entry.name, entry.value);
      } else if (entry.name == "x-grpc-test-echo-trailing-bin") {
        call.add_trailing_metadata(entry.name, entry.value);
      }
    }
  }

  void message(Call& call, Received message) override {
    Request request;
    switch (static_cast<Method>(call.method())) {
      case EmptyCall:
        if (call.send(std::span<const uint8_t>{})) call.finish({});
        return;
      case UnaryCall:
        if (!read_simple(message.bytes, request)) return refuse(call);
        if (finish_as_asked(call, request)) return;
        if (respond(call, request.response_bytes, request.server_id ? kServerId : "")) {
          call.finish({});
        }
        return;
      case StreamingInputCall:
        if (!read_streaming_input(message.bytes, request.payload_bytes)) return refuse(call);
        call.word += request.payload_bytes;
        return;
      case StreamingOutputCall:
        if (answer_all(call, message.bytes)) call.finish({});
        return;
      case FullDuplexCall: static_cast<void>(answer_all(call, message.bytes)); return;
      case HalfDuplexCall:  // responses are sent after the client's last message
        if (call.state == nullptr) call.state = new std::vector<std::string>;
        static_cast<std::vector<std::string>*>(call.state)
            ->emplace_back(reinterpret_cast<const char*>(message.bytes.data()),
                           message.bytes.size());
        return;
    }
  }

  void half_closed(Call& call) override {
    if (call.method() == StreamingInputCall) {
      std::array<uint8_t, 16> aggregated;
      WireWriter writer{aggregated.data()};
      if (call.word != 0) {
        writer.tag(1, WireType::Varint);
        writer.varint(call.word);
      }
      if (!call.send(std::span<const uint8_t>(aggregated.data(), writer.at))) return;
    }
    if (call.method() == HalfDuplexCall) {
      const auto requests = take_requests(call);
      if (requests != nullptr) {
        for (const std::string& one : *requests) {
          if (!answer_all(call, bytes_of(one))) return;
        }
      }
    }
    call.finish({});
  }

  void closed(Call& call) override { take_requests(call); }

 private:
  static std::unique_ptr<std::vector<std::string>> take_requests(Call& call) {
    return std::unique_ptr<std::vector<std::string>>(
        static_cast<std::vector<std::string>*>(std::exchange(call.state, nullptr)));
  }

  static void refuse(Call& call) {
    take_requests(call);
    call.finish({grpc_code::kInvalidArgument, "the request is no message of grpc.testing", {}});
  }

  // True: the client requested this status, and the call ends with it.
  static bool finish_as_asked(Call& call, const Request& request) {
    if (request.status.value_or(0) == 0) return false;
    take_requests(call);
    call.finish({*request.status, request.status_message, {}});
    return true;
  }

  // False: the call has ended.
  bool respond(Call& call, uint64_t count, std::string_view server_id = {}) {
    ByteBuffer buffer = thread_.take_buffer();
    const bool fits = count <= kResponseBytesMax && write_response(count, server_id, buffer);
    if (!fits) {
      take_requests(call);
      call.finish({grpc_code::kResourceExhausted, "no room for a response of that size", {}});
    }
    const bool sent = fits && call.send(buffer);
    buffer.clear();
    thread_.give_buffer(std::move(buffer));
    return sent;
  }

  // Sends everything that a StreamingOutputCallRequest asks for. False: the call has ended.
  bool answer_all(Call& call, std::span<const uint8_t> message) {
    Request request;
    if (!read_streaming_output(message, request)) {
      refuse(call);
      return false;
    }
    if (finish_as_asked(call, request)) return false;
    for (const uint64_t count : request.responses) {
      if (!respond(call, count)) return false;
    }
    return true;
  }

  CallThread& thread_;
};

// Returns the value of --`name`; "" if it is not given.
std::string_view argument(std::span<char*> arguments, std::string_view name) {
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    if (arguments[i] == name) return arguments[i + 1];
  }
  return {};
}

bool read_number(std::string_view text, uint32_t& number) {
  if (text.empty()) return true;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

int serve(std::span<char*> arguments) {
  TransportSettings settings;
  if (arguments.size() % 2 != 0 ||
      !read_number(argument(arguments, "--threads"), settings.threads) ||
      !read_number(argument(arguments, "--compression"), settings.compression_level)) {
    std::fputs("interop_server: bad arguments; see its source\n", stderr);
    return 2;
  }
  settings.tls.certificate.path = argument(arguments, "--certificate");
  settings.tls.key.path = argument(arguments, "--key");
  settings.tls.enabled = !settings.tls.certificate.empty();
  auto listener = TransportListener::start(
      std::move(settings), std::make_shared<MemoryBudget>(1u << 30), {},
      [](CallThread& thread) { return std::make_unique<TestService>(thread); });
  if (!listener.ok()) {
    std::fprintf(stderr, "interop_server: %s\n", listener.error().message.c_str());
    return 1;
  }
  std::printf("port %u\n", static_cast<unsigned>(listener.value()->port()));
  std::fflush(stdout);
  std::array<char, 256> ignored;
  while (::read(STDIN_FILENO, ignored.data(), ignored.size()) > 0) {
  }
  return 0;
}

}  // namespace
}  // namespace serval

int main(int count, char** values) {
  return serval::serve({values + 1, static_cast<size_t>(count - 1)});
}
