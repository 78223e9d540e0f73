// The front of http_front.h: it has its own thread and epoll.
#include "addon/http_front.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/threads.h"

namespace serval {

namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr size_t kHeadBytesMax = 16 * 1024;

bool same_letters(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(a[i])) != b[i]) return false;
  }
  return true;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Whether uWebSockets.js reads the header as HTTP has it.
bool is_plain(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  const std::string_view value = trimmed(line.substr(colon + 1));
  const std::string_view name = line.substr(0, colon);
  if (same_letters(name, "expect")) {
    return value == "100-continue" || !same_letters(value, "100-continue");
  }
  return !same_letters(name, "connection") || value.find(',') == std::string_view::npos;
}

using Fronts = std::unordered_map<uint32_t, std::unique_ptr<HttpFront>>;

// Those of this thread. Not freed with it: its JavaScript has ended then.
Fronts& fronts() {
  static thread_local Fronts* const all = std::make_unique<Fronts>().release();
  return *all;
}

HttpFront* front_of(uint32_t number) {
  const auto found = fronts().find(number);
  return found == fronts().end() ? nullptr : found->second.get();
}

}  // namespace

FrontEvent front_choice(std::string_view bytes) {
  const size_t head_end = bytes.find("\r\n\r\n");
  const size_t line_end = bytes.find("\r\n");
  if (line_end == std::string_view::npos) return FrontEvent::ToNode;
  if (bytes.substr(0, line_end).ends_with(" HTTP/1.0")) return FrontEvent::ToNode;
  if (head_end == std::string_view::npos) return FrontEvent::ToNode;
  size_t at = line_end + 2;
  while (at < head_end) {
    const size_t end = bytes.find("\r\n", at);
    if (!is_plain(bytes.substr(at, end - at))) return FrontEvent::ToNode;
    at = end + 2;
  }
  return FrontEvent::ToUws;
}

struct HttpFront::State {
  napi_threadsafe_function told = nullptr;
  std::thread thread;
  int epoll = -1, wake = -1, listening = -1;
  std::mutex mutex;
  bool stops = false;                         // guarded by mutex; accepts no more
  bool ends = false;                          // guarded by mutex
  uint64_t sweep_ns = UINT64_MAX;             // guarded by mutex; older ones are closed
  std::unordered_map<int, uint64_t> waiting;  // since when; the front's thread

  ~State() {
    for (const int descriptor : {epoll, wake, listening}) {
      if (descriptor >= 0) ::close(descriptor);
    }
  }
  bool watch(int descriptor) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
  }
  void wake_up() const {
    const uint64_t one = 1;
    (void)!write(wake, &one, sizeof one);
  }
  void run();
  bool obey();
  void tell(FrontEvent event, int connection) const;
  void drop(int connection);
  void accept_some();
  bool look(int connection);
};

namespace {

constexpr uintptr_t kEventBits = 2;

// JavaScript's thread; no `env`: that has ended.
void call_js(napi_env env, napi_value function, void*, void* data) {
  const auto packed = reinterpret_cast<uintptr_t>(data);
  const auto event = static_cast<FrontEvent>(packed & 3u);
  const auto connection = static_cast<int>(packed >> kEventBits);
  if (env == nullptr) {
    if (event == FrontEvent::ToUws || event == FrontEvent::ToNode) ::close(connection);
    return;
  }
  napi_value receiver = nullptr;
  napi_value arguments[2] = {};
  napi_get_global(env, &receiver);
  napi_create_uint32(env, static_cast<uint32_t>(event), &arguments[0]);
  napi_create_int32(env, connection, &arguments[1]);
  napi_call_function(env, receiver, function, 2, arguments, nullptr);
}

}  // namespace

void HttpFront::State::tell(FrontEvent event, int connection) const {
  const uintptr_t packed =
      static_cast<uintptr_t>(connection) << kEventBits | static_cast<uintptr_t>(event);
  const bool given = napi_call_threadsafe_function(told, reinterpret_cast<void*>(packed),
                                                   napi_tsfn_nonblocking) == napi_ok;
  const bool has_it = event == FrontEvent::ToUws || event == FrontEvent::ToNode;
  if (!given && has_it) ::close(connection);
}

void HttpFront::State::drop(int connection) {
  waiting.erase(connection);
  ::close(connection);
  tell(FrontEvent::Gone, connection);
}

// True: it has bytes, or has ended, and is waited for no more.
bool HttpFront::State::look(int connection) {
  static thread_local char bytes[kHeadBytesMax];
  const ssize_t count = recv(connection, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) {
    drop(connection);
    return true;
  }
  if (waiting.erase(connection) != 0) epoll_ctl(epoll, EPOLL_CTL_DEL, connection, nullptr);
  tell(front_choice({bytes, static_cast<size_t>(count)}), connection);
  return true;
}

void HttpFront::State::accept_some() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    const int connection = accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (connection < 0) return;
    const int on = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    tell(FrontEvent::Accepted, connection);
    if (look(connection)) continue;
    waiting.emplace(connection, now_ns());
    if (!watch(connection)) drop(connection);
  }
}

// False: the thread is to end.
bool HttpFront::State::obey() {
  uint64_t unused = 0;
  (void)!read(wake, &unused, sizeof unused);
  uint64_t older_ns = UINT64_MAX;
  {
    std::lock_guard lock(mutex);
    if (stops && listening >= 0) {
      epoll_ctl(epoll, EPOLL_CTL_DEL, listening, nullptr);
      ::close(listening);
      listening = -1;
    }
    older_ns = ends ? 0 : std::exchange(sweep_ns, UINT64_MAX);
  }
  std::vector<int> old;
  const uint64_t now = now_ns();
  for (const auto& [connection, since] : waiting) {
    if (now - since >= older_ns) old.push_back(connection);
  }
  for (const int connection : old) drop(connection);
  std::lock_guard lock(mutex);
  return !ends;
}

void HttpFront::State::run() {
  pthread_setname_np(pthread_self(), "sv-http-front");
  std::array<epoll_event, 64> events;
  for (;;) {
    const int count = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    bool woken = false;
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[static_cast<size_t>(i)].data.fd;
      if (descriptor == wake) woken = true;
      else if (descriptor == listening) accept_some();
      else (void)look(descriptor);
    }
    if (woken && !obey()) return;
  }
}

HttpFront::HttpFront() : state_(std::make_unique<State>()) {}

HttpFront::~HttpFront() {
  State& state = *state_;
  if (state.thread.joinable()) {
    {
      std::lock_guard lock(state.mutex);
      state.stops = state.ends = true;
    }
    state.wake_up();
    state.thread.join();
  }
  if (state.told != nullptr) napi_release_threadsafe_function(state.told, napi_tsfn_release);
}

bool HttpFront::open(napi_env env, int listening, napi_value callback) {
  State& state = *state_;
  state.listening = fcntl(listening, F_DUPFD_CLOEXEC, 0);
  state.epoll = epoll_create1(EPOLL_CLOEXEC);
  state.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (state.listening < 0 || state.epoll < 0 || state.wake < 0) return false;
  napi_value name = nullptr;
  napi_create_string_utf8(env, "serval HTTP front", NAPI_AUTO_LENGTH, &name);
  if (!state.watch(state.wake) || !state.watch(state.listening) ||
      napi_create_threadsafe_function(env, callback, nullptr, name, 0, 1, nullptr, nullptr, nullptr,
                                      call_js, &state.told) != napi_ok) {
    return false;
  }
  napi_unref_threadsafe_function(env, state.told);
  return start_thread_in(state.thread, [&state] { state.run(); });
}

void HttpFront::stop() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stops = true;
  }
  state_->wake_up();
}

void HttpFront::sweep(uint64_t older_than_ms) {
  {
    std::lock_guard lock(state_->mutex);
    state_->sweep_ns = older_than_ms * 1'000'000;
  }
  state_->wake_up();
}

uint32_t FrontOpen(Arguments<2>& arguments) {
  const uint32_t descriptor = arguments.u32(0, "descriptor");
  napi_valuetype type = napi_undefined;
  napi_typeof(arguments.env(), arguments.value(1), &type);
  if (descriptor > INT32_MAX) arguments.fail("descriptor");
  if (type != napi_function) arguments.fail("callback");
  if (!arguments.ok()) return 0;
  auto front = std::make_unique<HttpFront>();
  if (!front->open(arguments.env(), static_cast<int>(descriptor), arguments.value(1))) return 0;
  static thread_local uint32_t opened = 0;
  fronts().emplace(++opened, std::move(front));
  return opened;
}

napi_value FrontStop(Arguments<1>& arguments) {
  const uint32_t number = arguments.u32(0, "front");
  HttpFront* front = arguments.ok() ? front_of(number) : nullptr;
  if (front != nullptr) front->stop();
  return nullptr;
}

napi_value FrontSweep(Arguments<2>& arguments) {
  const uint32_t number = arguments.u32(0, "front");
  const uint32_t ms = arguments.u32(1, "ms");
  HttpFront* front = arguments.ok() ? front_of(number) : nullptr;
  if (front != nullptr && ms > 0) front->sweep(ms);
  else if (front != nullptr) fronts().erase(number);
  return nullptr;
}

}  // namespace serval
