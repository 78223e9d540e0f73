// libFuzzer target for a whole HTTP/2 connection: arbitrary bytes arrive over a unix socket at a
// listener with the handlers of its tests, for gRPC alone or for gRPC and HTTP. The first byte
// chooses which, whether HTTP/2's preface is sent separately before them, and the size of the
// pieces. Nothing may crash or hang, the connection must end with its client, and the memory of its
// calls must be returned. Seeds: corpus/grpc_connection.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "transport/listener.h"
#include "transport/support/echo_handler.h"
#include "transport/support/frames.h"
#include "transport/support/http_echo.h"

namespace {

using namespace serval;
using namespace serval::testing;

constexpr uint64_t kBudgetBytes = 16u << 20;
constexpr uint64_t kKeptBytesMax = 8u << 20;  // kept by the listener's pools between connections

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Signals when the listener's thread has finished all its work.
class Turns {
 public:
  void ended() {
    std::lock_guard lock(mutex_);
    if (woken_) ++count_;
    woken_ = false;
    changed_.notify_all();
  }
  void woken() {
    std::lock_guard lock(mutex_);
    woken_ = true;
  }
  // Waits for the end of an event-loop iteration that begins after this call.
  void wait_for_one(CallThread& thread) {
    std::unique_lock lock(mutex_);
    const uint64_t before = count_;
    thread.wake();
    changed_.wait(lock, [&] { return count_ > before; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  uint64_t count_ = 0;
};

class Handler final : public TurnHandler {
 public:
  Handler(CallThread& thread, Journal& calls, HttpJournal& requests, Turns& turns)
      : calls_(thread, calls), requests_(thread, requests), turns_(turns) {}
  CallHandler* calls() override { return &calls_; }
  HttpHandler* requests() override { return &requests_; }
  void woken() override {
    turns_.woken();
    calls_.woken();
    requests_.woken();
  }
  void turn_ended() override { turns_.ended(); }

 private:
  EchoHandler calls_;
  HttpEcho requests_;
  Turns& turns_;
};

struct Server {
  Journal journal;
  HttpJournal requests;
  Turns turns;
  CallThread* thread = nullptr;
  std::shared_ptr<MemoryBudget> budget = std::make_shared<MemoryBudget>(kBudgetBytes);
  const std::string path;
  std::unique_ptr<TransportListener> listener;

  explicit Server(Serves serves)
      : path("/tmp/serval-fuzz-" + std::to_string(getpid()) + name_of(serves) + ".sock") {
    TransportSettings settings;
    settings.serves = serves;
    settings.host = "";
    settings.unix_path = path;
    settings.receive_bytes_max = 1u << 20;
    settings.stream_window_bytes = 65'535;
    settings.concurrent_streams_max = 100;
    settings.compression_level = 1;
    settings.ping_strikes_max = 0;
    auto started = TransportListener::start(settings, budget, {}, [this](CallThread& of) {
      thread = &of;
      return std::make_unique<Handler>(of, journal, requests, turns);
    });
    check(started.ok(), started.ok() ? "" : started.error().message.c_str());
    listener = std::move(started.value());
  }
  // Waits twice: the client has the output of one iteration when the next one ends.
  void settle() {
    turns.wait_for_one(*thread);
    turns.wait_for_one(*thread);
  }
};

void read_all(int fd) {
  char bytes[65'536];
  while (::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) continue;
}

// False: the server no longer reads.
bool send_all(Server& server, int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN) return false;
    if (count > 0) bytes.remove_prefix(static_cast<size_t>(count));
    else server.settle();
    read_all(fd);
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* calls = new Server(Serves::Grpc);
  static auto* both = new Server(Serves::Both);
  if (size == 0) return 0;
  const uint8_t choice = data[0];
  Server* server = (choice & 8) != 0 ? both : calls;
  std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  if ((choice & 1) != 0) {
    const uint32_t window = (choice & 2) != 0 ? 10 : 1u << 20;
    bytes.insert(0, std::string(kPreface) + settings_frame({{kInitialWindow, window}}));
  }
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  server->path.copy(address.sun_path, sizeof address.sun_path - 1);
  check(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "no connection");
  // All at once, or in 2, 4 ... pieces.
  const size_t pieces = size_t{1} << (choice >> 5 & 7);
  const size_t piece = bytes.size() / pieces + 1;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    if (!send_all(*server, fd, std::string_view(bytes).substr(at, piece))) break;
    server->settle();
    read_all(fd);
  }
  server->journal.go_on = server->requests.go_on = (choice & 4) != 0;
  server->settle();
  ::close(fd);
  for (int i = 0; i < 100 && server->listener->connections() > 0; ++i) server->settle();
  server->journal.go_on = server->requests.go_on = false;
  check(server->listener->connections() == 0, "the connection did not end with its client");
  check(server->budget->used() < kKeptBytesMax, "memory of calls was not given back");
  return 0;
}
