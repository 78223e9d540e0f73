// Reference server: gRPC's own C++ echoing the bytes of every request through its callback API
// without generated code, so without protobuf. Calls are unary, or a stream if the method's name
// contains it: each message is echoed. The caller pins the process. Prints one ready line; ends
// with stdin.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string_view>

namespace {

constexpr char kHost[] = "127.0.0.1";

// Reads a message and writes it back with the status: one batch of operations each way.
class UnaryEcho : public grpc::ServerGenericBidiReactor {
 public:
  UnaryEcho() { StartRead(&message_); }

  void OnReadDone(bool ok) override {
    if (ok) {
      StartWriteAndFinish(&message_, {}, grpc::Status::OK);
    } else {
      Finish({grpc::StatusCode::INTERNAL, "no message received"});
    }
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer message_;
};

// Echoes message by message until the client ends the stream.
class StreamEcho : public grpc::ServerGenericBidiReactor {
 public:
  StreamEcho() { StartRead(&message_); }

  void OnReadDone(bool ok) override {
    if (ok) {
      StartWrite(&message_);
    } else {
      Finish(grpc::Status::OK);
    }
  }
  void OnWriteDone(bool ok) override {
    if (ok) {
      StartRead(&message_);
    } else {
      Finish({grpc::StatusCode::UNAVAILABLE, "the client disconnected"});
    }
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer message_;
};

class Echo : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    const std::string_view method = context->method();
    if (method.find("Stream") != std::string_view::npos) return new StreamEcho;
    return new UnaryEcho;
  }
};

}  // namespace

int main() {
  Echo echo;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.SetMaxSendMessageSize(-1);
  builder.AddListeningPort(std::string(kHost) + ":0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&echo);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::fprintf(stderr, "grpc_echo: cannot listen on %s\n", kHost);
    return 1;
  }
  std::printf("{\"event\":\"ready\",\"host\":\"%s\",\"port\":%d}\n", kHost, port);
  std::fflush(stdout);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  _exit(0);
}
