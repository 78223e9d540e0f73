// Manages a model process. Control plane: the keeper, and the threads that load and unload.
#include "backend/isolated/process.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <set>

#include "base/clock.h"

namespace serval::isolated {

namespace {

// "0.2 s"
std::string seconds_text(uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ns) / 1e9);
  return text;
}

// How often the keeper polls for state changes that have no notification.
constexpr int kLookMs = 100;

Descriptor make_event() { return Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void signal_event(int event) {
  const uint64_t one = 1;
  // a full eventfd is signalled already
  if (write(event, &one, sizeof one) < 0) return;
}

}  // namespace

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& one : names) text += (text.empty() ? "" : ",") + one;
  return text;
}

uint64_t pause_ms_after(uint32_t deaths, const Pauses& pauses) {
  const uint32_t doublings = std::min(deaths == 0 ? 0 : deaths - 1, 20u);
  return std::min(pauses.first_ms << doublings, pauses.longest_ms);
}

ModelProcess::ModelProcess(std::unique_ptr<Launcher> launcher, MemoryBudget* budget, Pauses pauses)
    : launcher_(std::move(launcher)), budget_(budget), pauses_(pauses), wake_event_(make_event()) {}

ModelProcess::~ModelProcess() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  wake();
  if (keeper_.joinable()) keeper_.join();
}

void ModelProcess::wake() { signal_event(wake_event_.get()); }

Result<ModelProcess::Added> ModelProcess::add(ModelSource source) {
  std::unique_lock lock(mutex_);
  const uint32_t id = next_id_++;
  Entry& entry = entries_[id];
  entry.source = std::move(source);
  if (!keeper_.joinable()) {
    try {
      keeper_ = std::thread([this] { keep(); });
    } catch (const std::system_error& problem) {
      entries_.erase(id);
      return make_error(
          ErrorCode::MemoryFull,
          std::string("cannot start a thread for a model's process: ") + problem.what());
    }
  } else if (pid_ != 0 && socket_.get() >= 0) {
    ask(id, entry);
  }
  changed_.wait(lock, [&] { return entry.load != Load::Asked; });
  entry.first = false;
  if (entry.load == Load::Done) return Added{id, entry.info.value(), entry.state};
  Error error = std::move(entry.info.error());
  entries_.erase(id);
  return error;
}

void ModelProcess::remove(uint32_t id) {
  std::lock_guard lock(mutex_);
  entries_.erase(id);
  if (socket_.get() >= 0) send_packet(socket_.get(), {PacketKind::Unload, id, 0}, {});
}

Result<std::shared_ptr<ServerChannel>> ModelProcess::open(uint32_t id, bool& down) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return make_error(ErrorCode::ModelNotReady, "the model was removed");
  const Entry& entry = found->second;
  if (entry.load != Load::Done || socket_.get() < 0) {
    down = true;
    return make_error(ErrorCode::ModelNotReady,
                      "model '" + entry.source.name + "': " + state_text(entry));
  }
  const size_t keep = entry.info.value().on_gpu ? kGpuAreaKeepBytes : kAreaKeepBytes;
  Result<std::shared_ptr<ServerChannel>> made =
      ServerChannel::create(budget_, cancel_event_.get(), keep);
  if (!made.ok()) return made;
  ServerChannel& channel = *made.value();
  const int fds[] = {channel.page_area().fd(), channel.requests().fd(), channel.answers().fd()};
  if (!send_packet(socket_.get(), {PacketKind::Open, id, 0}, fds)) {
    return make_error(ErrorCode::ModelNotReady,
                      "model '" + entry.source.name + "': its process accepts no requests");
  }
  std::erase_if(channels_, [](const auto& one) { return one.expired(); });
  channels_.push_back(made.value());
  return made;
}

void ModelProcess::on_readiness(uint32_t id, std::function<void()> changed) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found != entries_.end()) found->second.changed = std::move(changed);
}

// The caller holds mutex_.
void ModelProcess::set_state(Entry& entry, Readiness readiness, uint64_t returns_ns) {
  entry.state->returns_ns.store(returns_ns);
  entry.state->readiness.store(readiness);
  if (entry.changed) entry.changed();
}

// The caller holds mutex_. The process has ended and starts again at `starts_ns`.
void ModelProcess::note_end(Entry& entry, uint64_t starts_ns) {
  const bool was_ready = entry.state->readiness.load() == Readiness::Ready;
  entry.lost_starts = was_ready ? 0 : entry.lost_starts + 1;
  const bool returns = entry.failures == 0 && entry.lost_starts < kLostStartsMax;
  set_state(entry, returns ? Readiness::Returning : Readiness::Failed, starts_ns);
}

// The caller holds mutex_.
std::string ModelProcess::state_text() const {
  const std::string death = death_.empty() ? "its process is not running" : death_;
  if (starts_ns_ == 0) return death + "; it is being started again";
  const uint64_t now = now_ns();
  return death + "; it starts again in " + seconds_text(starts_ns_ > now ? starts_ns_ - now : 0);
}

// The caller holds mutex_.
std::string ModelProcess::state_text(const Entry& entry) const {
  if (entry.problem.empty()) return state_text();
  if (entry.again_ns == 0) return entry.problem + "; it is being reloaded";
  const uint64_t now = now_ns();
  return entry.problem + "; retrying in " +
         seconds_text(entry.again_ns > now ? entry.again_ns - now : 0);
}

// A waiter may wake before the keeper knows how the process ended.
Error ModelProcess::death_error(uint32_t id) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return make_error(ErrorCode::ModelNotReady, state_text());
  return make_error(ErrorCode::ModelNotReady,
                    "model '" + found->second.source.name + "': " + state_text(found->second));
}

void ModelProcess::give_up(std::shared_ptr<ServerChannel> channel) {
  channel->close();
  std::lock_guard lock(mutex_);
  forget_idle();
  if (channel->dead() || pid_ == 0) return;
  given_up_.push_back(std::move(channel));
  wake();
  if (given_up_.size() < kGivenUpMax) return;
  fault_ = std::to_string(given_up_.size()) + " of its runs did not end after they were cancelled";
  launcher_->kill(pid_);
}

// The caller holds mutex_.
void ModelProcess::forget_idle() {
  std::erase_if(given_up_, [](const auto& one) { return one->idle(); });
}

void ModelProcess::end(const std::string& why) {
  std::lock_guard lock(mutex_);
  if (pid_ == 0) return;
  fault_ = why;
  launcher_->kill(pid_);
}

void ModelProcess::forget_memory(uint64_t id) {
  {
    std::lock_guard lock(forgotten_mutex_);
    forgotten_.push_back(id);
  }
  wake();
}

void ModelProcess::send_forgotten(int socket) {
  std::vector<uint64_t> ids;
  {
    std::lock_guard lock(forgotten_mutex_);
    ids.swap(forgotten_);
  }
  for (const uint64_t id : ids) send_packet(socket, {PacketKind::Forget, 0, id}, {});
}

// The caller holds mutex_. Sorted and unique, so that neither the order of loads nor the number of
// a model's versions changes a log line or a metric's label.
std::vector<std::string> ModelProcess::names() const {
  std::set<std::string> names;
  for (const auto& [id, entry] : entries_) names.insert(entry.source.name);
  return {names.begin(), names.end()};
}

std::string ModelProcess::models() {
  std::lock_guard lock(mutex_);
  return joined(names());
}

std::string ModelProcess::device() {
  std::lock_guard lock(mutex_);
  const uint64_t device = entries_.empty() ? 0 : entries_.begin()->second.source.device;
  return device == 0 ? "" : std::to_string(device - 1);
}

int64_t ModelProcess::pid() {
  std::lock_guard lock(mutex_);
  return pid_;
}

bool ModelProcess::up() {
  std::lock_guard lock(mutex_);
  return socket_.get() >= 0 && std::any_of(entries_.begin(), entries_.end(), [](const auto& one) {
           return one.second.load == Load::Done;
         });
}

gpu::PinnedReading ModelProcess::pinned() {
  std::lock_guard lock(mutex_);
  if (page_.data() == nullptr) return {};
  const gpu::PinnedPage& shown = page().pinned;
  return {shown.total_bytes.load(), shown.used_bytes.load(), shown.fallbacks.load()};
}

std::optional<std::string> ModelProcess::outage(const std::string& model, int64_t version) {
  std::lock_guard lock(mutex_);
  for (const auto& [id, entry] : entries_) {
    const ModelSource& source = entry.source;
    if (entry.first || source.name != model || source.version != version) continue;
    if (entry.load == Load::Done && socket_.get() >= 0) return "";
    return state_text(entry);
  }
  return std::nullopt;
}

// The caller holds mutex_. A model whose libraries have changed is not loaded into a new process:
// its readiness becomes Failed, and it is checked again after a pause.
void ModelProcess::ask(uint32_t id, Entry& entry) {
  for (const LibraryFile& library : entry.source.libraries) {
    if (entry.first || library == library_file(library.path)) continue;
    return note_reload(id, entry,
                       "it could not be reloaded: operator library " +
                           library.path.substr(library.path.rfind('/') + 1) +
                           " has changed since the model was loaded: load the model again");
  }
  entry.load = Load::Asked;
  entry.again_ns = 0;
  const int fd = entry.source.spec.get();
  if (send_packet(socket_.get(), {PacketKind::Load, id, entry.source.device}, {&fd, 1})) return;
  // Ends a process that accepts nothing: the load then fails because of its death.
  if (errno == EAGAIN) fault_ = "it accepted no load within several seconds";
  launcher_->kill(pid_);
}

// The caller holds mutex_. Requests the models whose pause before a reload is over.
void ModelProcess::ask_due() {
  if (socket_.get() < 0 || stopping_) return;
  const uint64_t now = now_ns();
  for (auto& [id, entry] : entries_) {
    if (entry.again_ns != 0 && entry.again_ns <= now) ask(id, entry);
  }
}

// The caller holds mutex_. How long the keeper may sleep; -1 = until it is woken.
int ModelProcess::wait_ms(bool ending) const {
  uint64_t ms = ending || !given_up_.empty() ? kLookMs : UINT64_MAX;
  const uint64_t now = now_ns();
  for (const auto& [id, entry] : entries_) {
    if (entry.again_ns == 0) continue;
    ms = std::min(ms, entry.again_ns > now ? (entry.again_ns - now) / kNsPerMs + 1 : 0);
  }
  return ms == UINT64_MAX ? -1 : static_cast<int>(std::min<uint64_t>(ms, INT_MAX));
}

void ModelProcess::keep() {
  pthread_setname_np(pthread_self(), "sv-keeper");
  for (;;) {
    End end;
    int64_t pid = 0;
    const Status started = start_process();
    if (started.ok()) {
      serve_process();
      {
        std::lock_guard lock(mutex_);
        pid = std::exchange(pid_, 0);
        launcher_->kill(pid);  // a process that hung up but still runs is useless
      }
      end = launcher_->wait(pid);
    } else {
      end = {"exit", started.error().message};
    }
    if (!end_life(end, pid)) return;
  }
}

Status ModelProcess::start_process() {
  Result<SocketPair> sockets = make_sockets();
  if (!sockets.ok()) return std::move(sockets.error());
  Descriptor event = make_event();
  if (event.get() < 0 || wake_event_.get() < 0) {
    return make_error(ErrorCode::Internal, "no file descriptor for a model's process");
  }
  Result<Pipe> output = make_pipe();
  if (!output.ok()) return std::move(output.error());
  Result<Area> page = Area::create("serval-process", sizeof(ProcessPage));
  if (!page.ok()) return std::move(page.error());
  const Result<int64_t> pid =
      launcher_->start(sockets.value().theirs.get(), event.get(), output.value().writes.get());
  if (!pid.ok()) return pid.error();
  std::lock_guard lock(mutex_);
  socket_ = std::move(sockets.value().ours);
  cancel_event_ = std::move(event);
  output_ = std::move(output.value().reads);
  pid_ = pid.value();
  fault_.clear();
  starts_ns_ = 0;
  started_ns_ = now_ns();
  page_ = std::move(page.value());
  const int page_fd = page_.fd();
  send_packet(socket_.get(), {PacketKind::Page, 0, 0}, {&page_fd, 1});
  for (auto& [id, entry] : entries_) {
    ask(id, entry);
    if (entry.state->readiness.load() == Readiness::Returning) {
      set_state(entry, Readiness::Returning);
    }
  }
  return {};
}

// Serves until the process hangs up or ends. A process that it has started may keep its socket
// open, so a separate event tells of the end; packets that were sent before it are read first.
void ModelProcess::serve_process() {
  int socket = -1;
  int64_t pid = 0;
  {
    std::lock_guard lock(mutex_);
    socket = socket_.get();
    pid = pid_;
  }
  const Descriptor ended = launcher_->end_event(pid);
  Output output(output_.get());
  uint64_t end_at_ns = 0;  // 0 = it is not ending
  int sleep_ms = 0;
  for (;;) {
    pollfd watched[4] = {{socket, POLLIN, 0},
                         {wake_event_.get(), POLLIN, 0},
                         {output.ended() ? -1 : output_.get(), POLLIN, 0},
                         {ended.get(), POLLIN, 0}};
    if (poll(watched, 4, sleep_ms) < 0) continue;
    if (watched[2].revents != 0) output.pass_on(models());
    if (watched[0].revents != 0 && !next_packet(socket)) return output.pass_on(models());
    if (watched[0].revents == 0 && watched[3].revents != 0) return output.pass_on(models());
    uint64_t count = 0;
    if (watched[1].revents != 0 && read(wake_event_.get(), &count, sizeof count) < 0) continue;
    send_forgotten(socket);
    std::lock_guard lock(mutex_);
    forget_idle();
    ask_due();
    if (stopping_ && end_at_ns == 0) {
      shutdown(socket, SHUT_WR);
      end_at_ns = now_ns() + kEndNs;
    } else if (end_at_ns != 0 && now_ns() > end_at_ns) {
      launcher_->kill(pid);
      end_at_ns = now_ns() + kEndNs;
    }
    sleep_ms = wait_ms(end_at_ns != 0);
  }
}

// False: the process hung up.
bool ModelProcess::next_packet(int socket) {
  Received received = receive_packet(socket);
  if (received.what == Received::What::Ended) return false;
  if (received.what == Received::What::Packet) hear(received);
  return true;
}

void ModelProcess::hear(Received& received) {
  const Packet& packet = received.packet;
  if (packet.kind != PacketKind::Loaded && packet.kind != PacketKind::Failed) return;
  Result<std::vector<uint8_t>> blob =
      received.descriptors.size() == 1
          ? read_blob(received.descriptors[0].get(), kBlobBytesMax)
          : make_error(ErrorCode::MemoryFull, "the model's process has no memory to answer a load");
  note_load(packet.id, packet.kind == PacketKind::Loaded, std::move(blob));
}

// A reloaded model must equal the original one, because the engine keeps what it knows of it.
void ModelProcess::note_load(uint32_t id, bool loaded, Result<std::vector<uint8_t>> blob) {
  Result<BackendModelInfo> info{Error{}};
  Writer signatures;
  if (!blob.ok()) {
    info = std::move(blob.error());
  } else if (loaded) {
    info = read_info(blob.value());
    if (info.ok()) write_signatures(info.value().signatures, signatures);
  } else {
    Reader in(blob.value());
    info = read_error(in);
  }
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;  // removed meanwhile
  Entry& entry = found->second;
  const std::span<const uint8_t> bytes = signatures.bytes();
  if (entry.first) {
    entry.load = info.ok() ? Load::Done : Load::Failed;
    set_state(entry, info.ok() ? Readiness::Ready : Readiness::Failed);
    entry.signatures.assign(bytes.begin(), bytes.end());
    entry.info = std::move(info);
    changed_.notify_all();
    return;
  }
  const bool same =
      std::equal(bytes.begin(), bytes.end(), entry.signatures.begin(), entry.signatures.end());
  if (info.ok() && same) return note_reload(id, entry, "");
  note_reload(id, entry,
              info.ok() ? "the inputs or outputs of the model differ from those of its first load"
                        : "it could not be reloaded: " + info.error().message);
}

// The caller holds mutex_. `problem`: "" = loaded. The other models of the process keep running.
void ModelProcess::note_reload(uint32_t id, Entry& entry, const std::string& problem) {
  entry.load = problem.empty() ? Load::Done : Load::Failed;
  entry.problem = problem;
  entry.failures = problem.empty() ? 0 : entry.failures + 1;
  set_state(entry, problem.empty() ? Readiness::Ready : Readiness::Failed);
  if (problem.empty()) return;
  // the loaded model differs from the original one
  send_packet(socket_.get(), {PacketKind::Unload, id, 0}, {});
  const uint64_t pause_ms = pause_ms_after(entry.failures, pauses_);
  entry.again_ns = now_ns() + pause_ms * kNsPerMs;
  isolated::note_reload(entry.source.name, problem, pid_, pause_ms);
}

// Handles the death of the process. False: it is not to be restarted.
bool ModelProcess::end_life(const End& end, int64_t pid) {
  std::vector<std::shared_ptr<ServerChannel>> channels;
  std::unique_lock lock(mutex_);
  const bool lived = started_ns_ != 0 && now_ns() - started_ns_ > pauses_.lived_ms * kNsPerMs;
  socket_ = Descriptor();
  if (page_.data() != nullptr) {
    if (fault_.empty()) fault_ = read_fault(page());
    note_fallbacks(page().pinned.fallbacks.load());
  }
  page_ = Area();
  deaths_ = lived ? 1 : deaths_ + 1;
  death_ = fault_.empty() ? end.text : fault_;
  const uint64_t pause_ms = pause_ms_after(deaths_, pauses_);
  starts_ns_ = now_ns() + pause_ms * kNsPerMs;
  for (auto& [id, entry] : entries_) {
    entry.problem.clear();
    entry.again_ns = 0;
    if (!entry.first) {
      entry.load = Load::Asked;
      note_end(entry, starts_ns_);
    } else if (entry.load == Load::Asked) {
      entry.load = Load::Failed;
      entry.info = make_error(ErrorCode::BackendFailed,
                              "model '" + entry.source.name + "': " + death_ + " while it loaded");
    }
  }
  for (const auto& one : channels_) {
    if (std::shared_ptr<ServerChannel> channel = one.lock()) channels.push_back(std::move(channel));
  }
  channels_.clear();
  given_up_.clear();
  changed_.notify_all();
  if (!stopping_) note_death(names(), {end.signal, death_}, pid, pause_ms);
  lock.unlock();
  for (const auto& channel : channels) channel->die();
  channels.clear();
  lock.lock();
  changed_.wait_for(lock, std::chrono::milliseconds(pause_ms), [this] { return stopping_; });
  starts_ns_ = 0;
  return !stopping_;
}

}  // namespace serval::isolated
