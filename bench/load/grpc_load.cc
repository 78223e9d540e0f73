// gRPC load over HTTP/2 with prior knowledge: one prepared message, again and again, from one
// thread on the load core. Every answer's length and status is checked; the first wrong one ends
// the run. Usage: grpc_load HOW HOST PORT METHOD MESSAGE_FILE ANSWER_BYTES CONNECTIONS COUNT
// SECONDS
//   open     COUNT calls a second at even distances, whatever becomes of them. Latencies count from
//            when a call was due, so that a server that stalls is charged for all it kept waiting
//   closed   COUNT calls in flight, always; each goes to the next connection in turn
//   whole    the same; the time ends with the last answer and all of them count, so that slow calls
//            are counted whole
//   awake    as closed, without ever sleeping: what waking up takes is not in the latencies
//   streams  COUNT streams, each with one request in flight, on the connections in turn
//   hold     COUNT calls in flight until every connection had one; then the connections stay, idle,
//            until stdin ends. Prints a ready line in between
// Prints one line of JSON: {"requests", "elapsedUs", "p50Us", "p99Us", "p999Us", "maxUs",
// "lateUs": 99th percentile of how long after its time a call was begun}, or {"error"}. Few calls
// in flight are counted as by "whole".
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>

#include "grpc_connection.h"

namespace serval::bench {
namespace {

constexpr uint64_t kConnectNsMax = 20'000'000'000;
constexpr uint64_t kLastAnswersNsMax = 10'000'000'000;  // a slow server's, after the last call
constexpr int kEventsMax = 256;
constexpr int kTickMs = 50;
constexpr uint64_t kFewCalls = 4;

enum class How { kOpen, kClosed, kWhole, kAwake, kStreams, kHold };

struct Options {
  How how = How::kClosed;
  std::string host;
  uint16_t port = 0;
  Exchange exchange;
  size_t connections = 0;
  uint64_t count = 0;
  uint64_t window_ns = 0;
};

uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Linear between the two nearest ranks, in us. Takes sorted values, at least one.
double percentile_us(const std::vector<uint64_t>& sorted_ns, double p) {
  const double rank = static_cast<double>(sorted_ns.size() - 1) * p / 100;
  const size_t low = static_cast<size_t>(rank);
  const size_t high = std::min(low + 1, sorted_ns.size() - 1);
  const double low_ns = static_cast<double>(sorted_ns[low]);
  const double high_ns = static_cast<double>(sorted_ns[high]);
  return (low_ns + (high_ns - low_ns) * (rank - static_cast<double>(low))) / 1000;
}

int print_error(const std::string& why) {
  std::string quoted;
  for (const char byte : why) {
    if (byte == '"' || byte == '\\') quoted += '\\';
    quoted += byte < ' ' ? ' ' : byte;
  }
  std::printf("{\"error\":\"%s\"}\n", quoted.c_str());
  return 0;
}

class Load : public CallEvents {
 public:
  explicit Load(const Options& options) : options_(options) {}
  ~Load() override {
    connections_.clear();
    if (epoll_ >= 0) close(epoll_);
  }

  // What went wrong, or "".
  std::string run();
  void print() const;

  void answered(Call& call) override;
  void failed(Call&, std::string why) override { note(std::move(why)); }

 private:
  void note(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
  }
  void connect();
  void begin_next(uint64_t due_ns);
  void begin_due();
  void start_closed();
  // Waits for at most `timeout_ms`, takes what came, writes what is to go.
  void turn(int timeout_ms);
  void flush_all();
  int wait_ms() const;
  void hold();
  Call& take_call();
  Connection& next_connection();
  void wants_flush(Connection& connection);

  const Options& options_;
  int epoll_ = -1;
  std::vector<std::unique_ptr<Connection>> connections_;
  size_t next_ = 0;
  std::vector<Connection*> to_flush_;
  std::deque<Call> calls_;
  std::vector<Call*> free_;
  std::string problem_;
  uint64_t started_ns_ = 0;
  uint64_t ended_ns_ = 0;
  uint64_t begun_ = 0;
  uint64_t in_flight_ = 0;
  bool timing_ = false;
  bool counts_all_ = false;  // those that are answered after the time too
  uint64_t counted_ = 0;
  uint64_t last_ns_ = 0;
  std::vector<uint64_t> latencies_ns_;
  std::vector<uint64_t> late_ns_;
};

void Load::connect() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  for (size_t i = 0; i < options_.connections && problem_.empty(); ++i) {
    connections_.push_back(
        std::make_unique<Connection>(options_.exchange, *this, options_.host, options_.port));
    Connection& connection = *connections_.back();
    if (!connection.problem().empty()) return note(connection.problem());
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    event.data.ptr = &connection;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.socket(), &event);
  }
  const uint64_t began_ns = now_ns();
  const auto is_ready = [](const auto& connection) { return connection->ready(); };
  while (problem_.empty() && !std::all_of(connections_.begin(), connections_.end(), is_ready)) {
    if (now_ns() - began_ns > kConnectNsMax) return note("the server sends no SETTINGS");
    turn(kTickMs);
  }
}

Call& Load::take_call() {
  if (free_.empty()) return calls_.emplace_back();
  Call& call = *free_.back();
  free_.pop_back();
  return call;
}

Connection& Load::next_connection() {
  Connection& connection = *connections_[next_];
  next_ = next_ + 1 == connections_.size() ? 0 : next_ + 1;
  return connection;
}

void Load::wants_flush(Connection& connection) {
  if (connection.flush_wanted) return;
  connection.flush_wanted = true;
  to_flush_.push_back(&connection);
}

void Load::begin_next(uint64_t due_ns) {
  Call& call = take_call();
  Connection& connection = next_connection();
  call.due_ns = due_ns;
  connection.begin(call);
  ++begun_;
  ++in_flight_;
  wants_flush(connection);
}

// Open: what is due by now.
void Load::begin_due() {
  const uint64_t at_ns = now_ns();
  const double distance_ns = 1e9 / static_cast<double>(options_.count);
  const uint64_t until_ns = std::min(at_ns, ended_ns_);
  for (;;) {
    const uint64_t due_ns =
        started_ns_ +
        static_cast<uint64_t>(std::llround(static_cast<double>(begun_) * distance_ns));
    if (due_ns >= until_ns) return;
    late_ns_.push_back(at_ns - due_ns);
    begin_next(due_ns);
  }
}

void Load::start_closed() {
  for (uint64_t i = 0; i < options_.count; ++i) begin_next(now_ns());
}

void Load::answered(Call& call) {
  const uint64_t at_ns = now_ns();
  if (timing_) {
    if (at_ns <= ended_ns_ || counts_all_) {
      ++counted_;
      last_ns_ = at_ns;
    }
    latencies_ns_.push_back(at_ns - call.due_ns);
  }
  const bool goes_on =
      options_.how == How::kHold ? begun_ < options_.connections : at_ns < ended_ns_;
  if (options_.how == How::kStreams && goes_on) {
    call.due_ns = at_ns;
    call.connection->send_again(call);
    wants_flush(*call.connection);
    return;
  }
  --in_flight_;
  if (options_.how == How::kStreams) return;
  free_.push_back(&call);
  if (options_.how != How::kOpen && goes_on) begin_next(at_ns);
}

void Load::flush_all() {
  for (size_t i = 0; i < to_flush_.size(); ++i) {
    Connection& connection = *to_flush_[i];
    connection.flush_wanted = false;
    connection.flush();
    if (!connection.problem().empty()) note(connection.problem());
  }
  to_flush_.clear();
}

void Load::turn(int timeout_ms) {
  flush_all();
  std::array<epoll_event, kEventsMax> events;
  const int count = epoll_wait(epoll_, events.data(), kEventsMax, timeout_ms);
  for (int i = 0; i < count; ++i) {
    Connection& connection = *static_cast<Connection*>(events[static_cast<size_t>(i)].data.ptr);
    connection.receive();
    if (!connection.problem().empty()) return note(connection.problem());
    wants_flush(connection);
  }
  flush_all();
}

int Load::wait_ms() const {
  return options_.how == How::kOpen || options_.how == How::kAwake ? 0 : kTickMs;
}

void Load::hold() {
  std::printf("{\"event\":\"ready\"}\n");
  std::fflush(stdout);
  for (pollfd input{STDIN_FILENO, POLLIN, 0}; problem_.empty();) {
    turn(kTickMs);
    char byte = 0;
    if (poll(&input, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0) return;
  }
}

std::string Load::run() {
  connect();
  started_ns_ = now_ns();
  ended_ns_ = started_ns_ + options_.window_ns;
  timing_ = options_.how != How::kHold;
  counts_all_ =
      options_.how == How::kOpen || options_.how == How::kWhole || options_.count <= kFewCalls;
  if (options_.how == How::kHold) {
    const uint64_t first = std::min<uint64_t>(options_.count, options_.connections);
    for (uint64_t i = 0; i < first && problem_.empty(); ++i) begin_next(now_ns());
    while (problem_.empty() && in_flight_ > 0) turn(kTickMs);
    if (problem_.empty()) hold();
    return problem_;
  }
  if (options_.how != How::kOpen && problem_.empty()) start_closed();
  while (problem_.empty() && now_ns() < ended_ns_) {
    if (options_.how == How::kOpen) begin_due();
    turn(wait_ms());
  }
  // What became due while the last turn ran.
  if (options_.how == How::kOpen && problem_.empty()) begin_due();
  timing_ = counts_all_;
  while (problem_.empty() && in_flight_ > 0 && now_ns() < ended_ns_ + kLastAnswersNsMax) {
    turn(wait_ms());
  }
  if (problem_.empty() && in_flight_ > 0) {
    note(std::to_string(in_flight_) + " of " + std::to_string(begun_) + " calls were not answered");
  }
  if (problem_.empty() && counted_ == 0) note("no call was answered in the time");
  std::sort(latencies_ns_.begin(), latencies_ns_.end());
  std::sort(late_ns_.begin(), late_ns_.end());
  return problem_;
}

void Load::print() const {
  if (options_.how == How::kHold) return;
  const bool to_last = counts_all_ && options_.how != How::kOpen;
  const uint64_t elapsed_ns = to_last ? last_ns_ - started_ns_ : options_.window_ns;
  std::printf(
      "{\"requests\":%zu,\"elapsedUs\":%.3f,\"p50Us\":%.3f,\"p99Us\":%.3f,\"p999Us\":%.3f,"
      "\"maxUs\":%.3f,\"lateUs\":%.3f}\n",
      static_cast<size_t>(counted_), static_cast<double>(elapsed_ns) / 1000,
      percentile_us(latencies_ns_, 50), percentile_us(latencies_ns_, 99),
      percentile_us(latencies_ns_, 99.9), percentile_us(latencies_ns_, 100),
      late_ns_.empty() ? 0 : percentile_us(late_ns_, 99));
}

template <typename Number>
bool parse(const char* text, Number& number) {
  const std::string_view view(text);
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), number);
  return error == std::errc() && end == view.data() + view.size();
}

// "" or what is wrong.
std::string parse_options(char** arguments, Options& options) {
  static const std::map<std::string_view, How> kWays = {
      {"open", How::kOpen},       {"closed", How::kClosed}, {"whole", How::kWhole},
      {"streams", How::kStreams}, {"awake", How::kAwake},   {"hold", How::kHold}};
  const auto how = kWays.find(arguments[1]);
  if (how == kWays.end()) return std::string("HOW is '") + arguments[1] + "'";
  options.how = how->second;
  options.host = arguments[2];
  double seconds = 0;
  if (!parse(arguments[3], options.port) || !parse(arguments[6], options.exchange.answer_bytes) ||
      !parse(arguments[7], options.connections) || !parse(arguments[8], options.count) ||
      !parse(arguments[9], seconds)) {
    return "PORT, ANSWER_BYTES, CONNECTIONS, COUNT and SECONDS are numbers";
  }
  if (options.connections == 0 || options.count == 0 || !(seconds > 0 && seconds < 1e6)) {
    return "CONNECTIONS, COUNT and SECONDS are more than 0";
  }
  options.window_ns = static_cast<uint64_t>(seconds * 1e9);
  options.exchange.authority = options.host + ":" + arguments[3];
  options.exchange.method = arguments[4];
  options.exchange.streams = options.how == How::kStreams;
  std::ifstream file(arguments[5], std::ios::binary);
  if (!file) return std::string("cannot read ") + arguments[5];
  const std::string message((std::istreambuf_iterator<char>(file)), {});
  std::string& frame = options.exchange.frame;
  frame.push_back(0);
  for (int shift = 24; shift >= 0; shift -= 8) {
    frame.push_back(static_cast<char>(message.size() >> shift & 0xff));
  }
  frame += message;
  return "";
}

// A connection is a descriptor; the usual limit is 1,024.
void raise_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace
}  // namespace serval::bench

int main(int count, char** arguments) {
  using namespace serval::bench;
  if (count != 10) {
    std::fprintf(
        stderr,
        "usage: grpc_load open|closed|whole|awake|streams|hold HOST PORT METHOD MESSAGE_FILE "
        "ANSWER_BYTES CONNECTIONS COUNT SECONDS\n");
    return 2;
  }
  Options options;
  std::string problem = parse_options(arguments, options);
  if (!problem.empty()) return print_error(problem);
  raise_descriptors();
  Load load(options);
  problem = load.run();
  if (!problem.empty()) return print_error(problem);
  load.print();
  return 0;
}
