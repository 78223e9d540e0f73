// Serves channels and loads in a model's process. Hot path (channels' threads) and control plane
// (the calling thread).
#include "backend/isolated/serve.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "backend/isolated/packets.h"
#include "backend/isolated/spin.h"
#include "backend/isolated/tensors.h"
#include "gpu/pinned_range.h"

namespace serval::isolated {

namespace {

constexpr uint64_t kSleepNs = 10'000'000'000;
constexpr size_t kChannelsMax = 4096;
constexpr int kNoChannelCode = 3;  // exit code of a process that has no memory for a channel
constexpr int kFaultCode = 4;      // exit code of a process in which no run can succeed any more

Error internal(const std::string& what) { return make_error(ErrorCode::Internal, what); }

// Catches exceptions of foreign code: they end one request or load.
template <typename Work>
auto fenced(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& problem) {
    return internal(std::string("exception: ") + problem.what());
  } catch (...) {
    return internal("unknown exception");
  }
}

// Client device memory that requests have used in this process. Any thread.
class OpenMemory {
 public:
  // Opens it when a request uses it for the first time. Errors: those of gpu::SharedMemory::open().
  Result<std::shared_ptr<gpu::SharedMemory>> get(const gpu::SharedMemorySpec& spec, uint64_t id) {
    const std::lock_guard lock(mutex_);
    if (const auto found = open_.find(id); found != open_.end()) return found->second;
    Result<std::shared_ptr<gpu::SharedMemory>> opened = gpu::SharedMemory::open(spec, id);
    if (!opened.ok()) {
      opened.error().message = "the model's process cannot use the client's CUDA shared memory: " +
                               opened.error().message;
      return opened;
    }
    open_[id] = opened.value();
    return opened;
  }
  // Closes it once no run uses it any more.
  void forget(uint64_t id) {
    std::shared_ptr<gpu::SharedMemory> gone;
    const std::lock_guard lock(mutex_);
    if (const auto found = open_.find(id); found != open_.end()) {
      gone = std::move(found->second);
      open_.erase(found);
    }
  }

 private:
  std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<gpu::SharedMemory>> open_;  // guarded by mutex_
};

// One channel of one model, run by its own thread.
class ServedChannel {
 public:
  using EndProcess = std::function<void(const std::string& fault)>;
  ServedChannel(std::shared_ptr<BackendModel> model, OpenMemory& memory, Area page, Area requests,
                Area answers, EndProcess end_process)
      : model_(std::move(model)),
        memory_(memory),
        end_process_(std::move(end_process)),
        page_(std::move(page)),
        requests_(std::move(requests)),
        answers_(std::move(answers)),
        scratch_(model_->make_scratch()) {
    answers_.set_keep(this->page().keep_bytes.load());
    if (!model_->info().takes_device_memory) return;
    if (const auto calls = gpu::open_cuda(); calls.ok()) cuda_ = calls.value();
  }

  Area& page_area() { return page_; }
  ChannelPage& page() { return *reinterpret_cast<ChannelPage*>(page_.data()); }

  // Runs until the channel is closed, or the process is to end: its death answers the current run.
  void run() {
    uint32_t done = 0;
    for (;;) {
      const uint32_t next = wait(done);
      if (next == done) return pinned_.drop();
      begin(next);
      Status status = fenced([&] { return answer(); });
      end();
      held_.clear();
      if (!status.ok()) {
        if (const std::string fault = model_->lasting_fault(); !fault.empty()) {
          return end_process_(fault);
        }
        answer_error(status.error());
      }
      done = next;
      ChannelPage& shared = page();
      shared.answer.store(done);
      if (shared.server_sleeps.load() != 0) wake_all(shared.answer);
    }
  }
  // Marks the channel as no longer served.
  void leave() { page().ended.store(1); }

  // Checks whether the page asks for the current request to end. Thread: the control thread.
  void look_for_cancel() {
    std::lock_guard lock(mutex_);
    if (running_ != 0 && page().cancel.load() == running_) flag_.cancel(EndCause::ClientLeft);
  }
  // No caller waits for the current run. Thread: the control thread.
  void close() {
    close_channel(page());
    std::lock_guard lock(mutex_);
    if (running_ != 0) flag_.cancel(EndCause::Unloaded);
  }

 private:
  // Returns the number of the next request, or `done` if the channel is closed.
  uint32_t wait(uint32_t done) {
    const std::atomic<uint32_t>& request = page().request;
    return spin_.wait(
        page().server_cpu.load(), [&] { return request.load() != done; },
        [&] { return sleep(done); });
  }
  uint32_t sleep(uint32_t done) {
    ChannelPage& shared = page();
    for (;;) {
      const uint32_t next = shared.request.load();
      if (shared.closed.load() != 0) return done;
      if (next != done) return next;
      shared.child_sleeps.store(1);
      if (shared.request.load() == done) sleep_on(shared.request, done, kSleepNs);
      shared.child_sleeps.store(0);
    }
  }

  void begin(uint32_t number) {
    page().child_cpu.store(this_cpu(), std::memory_order_relaxed);
    std::lock_guard lock(mutex_);
    flag_.reset();
    running_ = number;
    if (page().cancel.load() == number) flag_.cancel(EndCause::ClientLeft);
  }
  void end() {
    std::lock_guard lock(mutex_);
    running_ = 0;
  }

  // Hot path: run. The request in the channel, its answer into the channel.
  Status answer() {
    const uint64_t bytes = page().request_bytes.load();
    if (const uint32_t trims = page().trims.load(); trims != trims_) {
      trims_ = trims;
      answers_.note_trim();
    }
    if (bytes > requests_.mapped()) pinned_.drop();  // it will be mapped again
    if (!message_.read(requests_, bytes)) return internal("no request");
    Reader head = message_.head();
    const auto signature = head.number<uint32_t>();
    const auto bytes_max = head.number<uint64_t>();
    outputs_.resize(head.count(sizeof(uint32_t)));
    for (uint32_t& one : outputs_) one = head.number<uint32_t>();
    const std::vector<Signature>& signatures = model_->info().signatures;
    if (Status there = read_devices(head); !there.ok()) return there;
    if (!message_.read_tensors(head, devices_, inputs_) || signature >= signatures.size()) {
      return internal("a request that cannot be read");
    }
    const size_t there = signatures[signature].outputs.size();
    for (const uint32_t one : outputs_) {
      if (one >= there) return internal("no output " + std::to_string(one));
    }
    scratch_->release_outputs();
    RunOptions options(&flag_);
    options.places = places_;
    Status status = model_->run(signature, inputs_, outputs_, *scratch_, options);
    if (status.ok()) status = answer_tensors(bytes_max);
    if (status.ok()) pin();
    scratch_->release_outputs();
    message_.trim();
    return status;
  }

  // Pins the part of the request area that is kept for the next request: the GPU then copies from
  // it directly. Called after a run, which has made the device current on this thread. A failure is
  // not retried.
  void pin() {
    const size_t bytes = std::min(requests_.mapped(), page().keep_bytes.load());
    if (cuda_ == nullptr || pinned_.holds(requests_.data(), bytes)) return;
    if (!pinned_.take(*cuda_, requests_.data(), bytes)) cuda_ = nullptr;
  }

  // Reads what write_devices() wrote, and opens memory that is not open yet.
  Status read_devices(Reader& head) {
    constexpr size_t kBytesEach = 2 * sizeof(uint64_t) + sizeof(int) + gpu::kIpcHandleBytes;
    devices_.clear();
    places_.clear();
    held_.clear();
    const size_t count = head.count(kBytesEach);
    for (size_t i = 0; i < count; ++i) {
      const auto id = head.number<uint64_t>();
      gpu::SharedMemorySpec spec;
      spec.device = head.number<int>();
      spec.bytes = head.number<uint64_t>();
      const std::span<const uint8_t> handle = head.raw(gpu::kIpcHandleBytes);
      if (!head.ok()) return internal("a request that cannot be read");
      std::memcpy(spec.handle.reserved, handle.data(), handle.size());
      Result<std::shared_ptr<gpu::SharedMemory>> opened = memory_.get(spec, id);
      if (!opened.ok()) return std::move(opened.error());
      devices_.push_back(opened.value().get());
      held_.push_back(std::move(opened.value()));
    }
    if (count == 0) return {};
    places_.resize(head.count(3 * sizeof(uint64_t)));
    for (OutputPlace& one : places_) {
      const auto place = head.number<uint64_t>();
      one.offset = head.number<uint64_t>();
      one.bytes = head.number<uint64_t>();
      if (!head.ok() || place > devices_.size()) return internal("no such device memory");
      one.memory = place == 0 ? nullptr : devices_[place - 1];
      const uint64_t there = place == 0 ? UINT64_MAX : one.memory->bytes();
      if (one.offset > there || one.bytes > there - one.offset) {
        return internal("the place of an output is outside its device memory");
      }
    }
    return {};
  }

  Status answer_tensors(uint64_t bytes_max) {
    head_.clear();
    head_.number<uint8_t>(0);
    const std::optional<uint64_t> bytes = write_records(scratch_->outputs(), devices_, head_);
    if (!bytes || *bytes > bytes_max) {
      return make_error(ErrorCode::MemoryFull,
                        "the model's outputs need " + std::to_string(bytes.value_or(0)) +
                            " bytes; the limit is " + std::to_string(bytes_max));
    }
    Status written = write_message(head_, *bytes, scratch_->outputs(), answers_);
    if (written.ok()) page().answer_bytes.store(message_bytes(head_, *bytes));
    return written;
  }

  void answer_error(const Error& error) {
    head_.clear();
    head_.number<uint8_t>(1);
    write_error(error, head_);
    const Status written = write_message(head_, 0, {}, answers_);
    page().answer_bytes.store(written.ok() ? message_bytes(head_, 0) : 0);
  }

  const std::shared_ptr<BackendModel> model_;
  OpenMemory& memory_;
  const EndProcess end_process_;
  Area page_, requests_, answers_;
  uint32_t trims_ = 0;                    // of the areas, as far as answers_ knows
  const gpu::CudaCalls* cuda_ = nullptr;  // null: nothing has to be pinned
  gpu::PinnedRange pinned_;               // of requests_
  const std::unique_ptr<BackendScratch> scratch_;
  Message message_;
  Writer head_;
  std::vector<TensorView> inputs_;
  std::vector<uint32_t> outputs_;
  DeviceList devices_;                                    // of this request
  std::vector<std::shared_ptr<gpu::SharedMemory>> held_;  // of this request
  std::vector<OutputPlace> places_;
  Spin spin_;
  std::mutex mutex_;
  CancelFlag flag_;       // reset under mutex_
  uint32_t running_ = 0;  // guarded by mutex_; 0 = none
};

class Server {
 public:
  explicit Server(const ServeOptions& options) : options_(options) {
    if (options.is_process) gpu::PinnedPool::process().set_limit(options.pinned_pool_bytes);
  }

  void run() {
    for (;;) {
      pollfd watched[2] = {{options_.socket, POLLIN, 0}, {options_.cancel_event, POLLIN, 0}};
      if (poll(watched, 2, -1) < 0) continue;
      if (watched[1].revents != 0) cancel_runs();
      if (watched[0].revents == 0) continue;
      Received received = receive_packet(options_.socket);
      if (received.what == Received::What::Ended) break;
      if (received.what == Received::What::Packet) take(received);
    }
    if (options_.is_process) _exit(0);  // no server waits for the runs any more
    finish();
  }

 private:
  void take(Received& received) {
    const Packet packet = received.packet;
    std::vector<Descriptor>& fds = received.descriptors;
    if (packet.kind == PacketKind::Load && fds.empty()) {
      answer_load(packet.id, internal("no descriptor for a model's spec"));
    } else if (packet.kind == PacketKind::Load) {
      const auto blob = std::make_shared<Descriptor>(std::move(fds[0]));
      if (!start("sv-load", [this, packet, blob] { load(packet, blob->get()); })) {
        answer_load(packet.id, internal("no thread to load a model on"));
      }
    } else if (packet.kind == PacketKind::Unload) {
      std::shared_ptr<BackendModel> gone;
      std::lock_guard lock(mutex_);
      if (const auto found = models_.find(packet.id); found != models_.end()) {
        gone = std::move(found->second);
        models_.erase(found);
      }
    } else if (packet.kind == PacketKind::Open) {
      if (fds.size() == 3) open(packet, fds);
      else lose_channel();
    } else if (packet.kind == PacketKind::Page && fds.size() == 1) {
      take_page(std::move(fds[0]));
    } else if (packet.kind == PacketKind::Forget) {
      memory_.forget(packet.value);
    }
  }

  void take_page(Descriptor descriptor) {
    Result<Area> area = Area::adopt(std::move(descriptor), sizeof(ProcessPage), true);
    if (!area.ok() || page_.data() != nullptr) return;
    page_ = std::move(area.value());
    if (options_.is_process) gpu::PinnedPool::process().show_on(&page()->pinned);
  }
  // Null if the server sent none. It arrives before the first load, and stays.
  ProcessPage* page() { return reinterpret_cast<ProcessPage*>(page_.data()); }

  void end_process(const std::string& fault) {
    if (page() != nullptr) write_fault(*page(), fault);
    if (options_.is_process) _exit(kFaultCode);
    shutdown(options_.socket, SHUT_RDWR);
  }

  // Threads are detached and counted: finish() waits for all. False: no thread could be started.
  bool start(const char* name, std::function<void()> work) {
    {
      std::lock_guard lock(mutex_);
      ++threads_;
    }
    const auto run = [this, name, work = std::move(work)] {
      pthread_setname_np(pthread_self(), name);
      work();
      std::lock_guard lock(mutex_);
      --threads_;
      changed_.notify_all();
    };
    try {
      std::thread(run).detach();
      return true;
    } catch (const std::system_error&) {
      std::lock_guard lock(mutex_);
      --threads_;
      return false;
    }
  }

  void load(const Packet& packet, int blob) {
    answer_load(packet.id, fenced([&] { return load_model(blob, packet.value); }));
  }

  void answer_load(uint32_t id, Result<std::shared_ptr<BackendModel>> loaded) {
    Writer out;
    if (loaded.ok()) {
      write_info(loaded.value()->info(), out);
      std::lock_guard lock(mutex_);
      models_[id] = std::move(loaded.value());
    } else {
      const std::string fault = fault_of_any();
      if (!fault.empty()) return end_process(fault);
      write_error(loaded.error(), out);
    }
    const Result<Descriptor> answer = blob_of(out.bytes());
    const int fd = answer.ok() ? answer.value().get() : -1;
    const PacketKind kind = loaded.ok() && answer.ok() ? PacketKind::Loaded : PacketKind::Failed;
    send_packet(options_.socket, {kind, id, 0}, {&fd, answer.ok() ? 1u : 0u});
  }

  // Checks the loaded models only: a load may find a device that is unusable for them too.
  std::string fault_of_any() {
    std::lock_guard lock(mutex_);
    for (const auto& [id, model] : models_) {
      if (std::string fault = model->lasting_fault(); !fault.empty()) return fault;
    }
    return {};
  }

  Result<std::shared_ptr<BackendModel>> load_model(int blob, uint64_t device) {
    const Result<std::vector<uint8_t>> bytes = read_blob(blob, kBlobBytesMax);
    if (!bytes.ok()) return bytes.error();
    Result<ModelSpec> spec = options_.parse(bytes.value());
    if (!spec.ok()) return std::move(spec.error());
    Backend* const backend = options_.backend(spec.value().backend);
    if (backend == nullptr) {
      return invalid_argument("backend '" + spec.value().backend +
                              "' does not support isolated processes");
    }
    for (Provider& provider : spec.value().providers) {
      if (device == 0 || (provider.name != "cuda" && provider.name != "tensorrt")) continue;
      std::erase_if(provider.options, [](const auto& it) { return it.first == "device_id"; });
      provider.options.emplace_back("device_id", std::to_string(device - 1));
    }
    return backend->load(spec.value());
  }

  void open(const Packet& packet, std::vector<Descriptor>& fds) {
    Result<Area> page = Area::adopt(std::move(fds[0]), sizeof(ChannelPage), true);
    Result<Area> answers = Area::adopt(std::move(fds[2]), kAreaFirstBytes, true);
    if (!page.ok()) return lose_channel();
    std::shared_ptr<BackendModel> model;
    {
      std::lock_guard lock(mutex_);
      const auto found = models_.find(packet.id);
      if (found != models_.end() && channels_.size() < kChannelsMax) model = found->second;
    }
    if (model == nullptr || !answers.ok()) return refuse(page.value());
    // Only writable memory can be pinned for a GPU.
    const bool on_gpu = model->info().takes_device_memory;
    Result<Area> requests = Area::adopt(std::move(fds[1]), kAreaFirstBytes, on_gpu);
    if (!requests.ok()) return refuse(page.value());
    const auto channel = std::make_shared<ServedChannel>(
        std::move(model), memory_, std::move(page.value()), std::move(requests.value()),
        std::move(answers.value()), [this](const std::string& fault) { end_process(fault); });
    {
      std::lock_guard lock(mutex_);
      channels_.push_back(channel);
    }
    const auto drop = [this](const std::shared_ptr<ServedChannel>& one) {
      std::lock_guard lock(mutex_);
      std::erase(channels_, one);
    };
    const bool started = start("sv-channel", [channel, drop] {
      channel->run();
      channel->leave();
      drop(channel);
    });
    if (started) return;
    refuse(channel->page_area());
    drop(channel);
  }

  // Not even a refusal can be written to this channel: ending the process informs its waiter.
  void lose_channel() const {
    if (options_.is_process) _exit(kNoChannelCode);
  }
  // Tells the waiter that nothing serves the channel.
  static void refuse(Area& page) {
    auto& shared = *reinterpret_cast<ChannelPage*>(page.data());
    shared.refused.store(1);
    wake_all(shared.answer);
  }

  void cancel_runs() {
    uint64_t count = 0;
    if (read(options_.cancel_event, &count, sizeof count) < 0) return;
    std::lock_guard lock(mutex_);
    for (const auto& channel : channels_) channel->look_for_cancel();
  }

  void finish() {
    std::unique_lock lock(mutex_);
    for (const auto& channel : channels_) channel->close();
    changed_.wait(lock, [this] { return threads_ == 0; });
    models_.clear();
  }

  const ServeOptions& options_;
  Area page_;          // set once, before its readers start
  OpenMemory memory_;  // outlives the channels
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint32_t, std::shared_ptr<BackendModel>> models_;  // guarded by mutex_
  std::vector<std::shared_ptr<ServedChannel>> channels_;      // guarded by mutex_
  size_t threads_ = 0;                                        // guarded by mutex_
};

}  // namespace

void serve(const ServeOptions& options) { Server(options).run(); }

}  // namespace serval::isolated
