// The server's end of a process with models' sessions: starts it, sends it loads, detects its
// death, wakes its waiters, and restarts it. Control plane; a keeper thread ("sv-keeper") for each
// process, which the process does not outlive.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backend/backend.h"
#include "backend/isolated/channel.h"
#include "backend/isolated/launch.h"
#include "backend/isolated/message.h"
#include "backend/isolated/output.h"
#include "backend/isolated/packets.h"
#include "backend/isolated/process_page.h"
#include "backend/isolated/spin.h"
#include "base/memory_budget.h"

namespace serval::isolated {

// Pauses before a process is restarted: the first, the longest, and how long a process must have
// lived for its death to count as a first one.
struct Pauses {
  uint64_t first_ms = 100;
  uint64_t longest_ms = 30'000;
  uint64_t lived_ms = 60'000;
};
// The pause before the next start, after `deaths` in a row.
uint64_t pause_ms_after(uint32_t deaths, const Pauses& pauses);

// Limit on runs that were given up but continue in the process: the process is ended when it is
// reached.
inline constexpr size_t kGivenUpMax = 32;
// How long a process without models may take to end.
inline constexpr uint64_t kEndNs = 5'000'000'000;

// Limit on a response, whatever the budget has left.
inline constexpr uint64_t kAnswerBytesMax = uint64_t{1} << 36;

// A model whose process ends this often before the model is reloaded has failed: the process does
// not survive the load.
inline constexpr uint32_t kLostStartsMax = 2;

// Whether a model can run now; see backend.h. Written by the keeper.
struct ModelState {
  std::atomic<Readiness> readiness{Readiness::Failed};
  std::atomic<uint64_t> returns_ns{0};
};

// The source from which the process loads a model.
struct ModelSource {
  std::string name;
  Descriptor spec;      // a blob
  uint64_t device = 0;  // Packet.value of a load
  int64_t version = 0;
  std::vector<LibraryFile> libraries;  // that the process opens
};

// The server's end of a channel. One run at a time.
class ServerChannel final : public IdleMemory::Owner,
                            public std::enable_shared_from_this<ServerChannel> {
 public:
  // `keep_bytes`: for each area, see Area::set_keep().
  static Result<std::shared_ptr<ServerChannel>> create(MemoryBudget* budget, int cancel_event,
                                                       size_t keep_bytes = kAreaKeepBytes);
  // Closes it.
  ~ServerChannel();
  ServerChannel(const ServerChannel&) = delete;
  ServerChannel& operator=(const ServerChannel&) = delete;

  ChannelPage& page() { return *reinterpret_cast<ChannelPage*>(page_.data()); }
  Area& page_area() { return page_; }
  Area& requests() { return requests_; }
  Area& answers() { return answers_; }

  // Charges the memory of both areas; false if the budget has not enough left.
  [[nodiscard]] bool hold(uint64_t request_bytes, uint64_t answer_bytes);
  // The maximum size of a response: what the budget has left.
  uint64_t answer_bytes_max() const;
  // Prepares both areas for the next request: call it before hold(), after trim().
  void resume();
  // Ends the use of the memory that a large request and its response took. It is kept for the next
  // request, since the system would fault in each of its pages again, and returned to the system
  // when no request used it for a while, when the budget needs its space, or at once if the budget
  // is half used.
  void trim();
  void free_idle() override;

  // Submits what was written as the next request; returns its number.
  uint32_t hand_over(uint64_t bytes);
  enum class Outcome : uint8_t { Answered, Dead, Refused, GivenUp };
  // Waits until request `number` is answered, the process is dead, nothing there serves the
  // channel, or the run was asked to end and did not. `ending`: when it was asked, 0 = it was not.
  Outcome wait(uint32_t number, const std::atomic<uint64_t>& ending_ns);
  // Asks request `number` to end. Any thread; does not block.
  void end_run(uint32_t number);
  // No request follows: the process releases its end when the current run is over.
  void close() { close_channel(page()); }
  // Whether the process began to run the latest request.
  bool began() { return page().begun.load() == next_; }
  // Whether nothing runs there. Any thread, after the last request was submitted.
  bool idle();
  // Marks the channel's process as dead. Any thread.
  void die();
  bool dead() const { return dead_.load(std::memory_order_acquire); }

 private:
  ServerChannel(Area page, Area requests, Area answers, Descriptor cancel_event,
                MemoryBudget* budget, size_t keep_bytes);
  void free_areas();
  Outcome outcome(uint32_t number);
  Outcome sleep(uint32_t number, const std::atomic<uint64_t>& ending_ns);

  Area page_, requests_, answers_;
  const Descriptor cancel_event_;
  MemoryBudget* const budget_;
  const uint64_t keep_;
  uint64_t held_ = 0;                              // charged to budget_
  uint64_t request_bytes_ = 0, answer_bytes_ = 0;  // of both areas, since they were trimmed
  bool parked_ = false;                            // the rest of the memory is in budget_->idle()
  std::mutex idle_mutex_;
  bool idle_ = false;  // guarded by idle_mutex_: free_idle() may trim both areas
  std::atomic<bool> dead_{false};
  uint32_t next_ = 0;
  Spin spin_;
};

class ModelProcess {
 public:
  ModelProcess(std::unique_ptr<Launcher> launcher, MemoryBudget* budget, Pauses pauses = {});
  // Ends the process: asks first, kills it after kEndNs.
  ~ModelProcess();
  ModelProcess(const ModelProcess&) = delete;
  ModelProcess& operator=(const ModelProcess&) = delete;

  struct Added {
    uint32_t id = 0;
    BackendModelInfo info;
    std::shared_ptr<const ModelState> state;
  };
  // Loads a model, and starts the process if it is not running. Blocks until the model is loaded.
  // Errors: those of the backend there; backend_failed if the process ends meanwhile.
  Result<Added> add(ModelSource source);
  void remove(uint32_t id);
  // Opens a channel for the model. Errors: model_not_ready (with the rest of the pause),
  // memory_full. Sets `down` if the model cannot run now.
  Result<std::shared_ptr<ServerChannel>> open(uint32_t id, bool& down);
  // Calls `changed` whenever the state of the model changes; see BackendModel::on_readiness().
  void on_readiness(uint32_t id, std::function<void()> changed);
  // Held during a request's second run.
  std::timed_mutex& retry_mutex() { return retry_mutex_; }
  // The error for a request whose process died.
  Error death_error(uint32_t id);
  // Takes over a channel whose run was given up but may continue: its memory stays charged until
  // the run ends. With kGivenUpMax of them the process is ended.
  void give_up(std::shared_ptr<ServerChannel> channel);
  // Ends a faulty process; it is restarted as after any death.
  void end(const std::string& why);

  // Tells the process that no request uses this client's device memory any more. Does not block.
  void forget_memory(uint64_t id);

  // "m1,m2": sorted, unique.
  std::string models();
  // The device of its models, "0"; "" = as each model reports, or none.
  std::string device();
  int64_t pid();
  bool up();
  // The state of its pool of pinned memory.
  gpu::PinnedReading pinned();
  // The reason why a model that was loaded here cannot be run now; "" if it can; nothing if there
  // is no such model.
  std::optional<std::string> outage(const std::string& model, int64_t version);

 private:
  enum class Load : uint8_t { Asked, Done, Failed };
  struct Entry {
    ModelSource source;
    Load load = Load::Asked;
    bool first = true;                // add() waits for it
    std::vector<uint8_t> signatures;  // from the first load
    Result<BackendModelInfo> info{Error{}};
    std::shared_ptr<ModelState> state = std::make_shared<ModelState>();
    std::function<void()> changed;  // called when `state` has changed
    uint32_t lost_starts = 0;       // consecutive ends of the process before it was reloaded
    std::string problem;            // why the reload failed; the process keeps running
    uint32_t failures = 0;          // consecutive failures to reload
    uint64_t again_ns = 0;          // time of the next reload; 0 = not due
  };

  void keep();
  Status start_process();
  void serve_process();
  bool next_packet(int socket);
  void hear(Received& received);
  void note_load(uint32_t id, bool loaded, Result<std::vector<uint8_t>> blob);
  void note_reload(uint32_t id, Entry& entry, const std::string& problem);
  static void set_state(Entry& entry, Readiness readiness, uint64_t returns_ns = 0);
  static void note_end(Entry& entry, uint64_t starts_ns);
  void ask(uint32_t id, Entry& entry);
  void ask_due();
  void send_forgotten(int socket);
  int wait_ms(bool ending) const;
  ProcessPage& page() { return *reinterpret_cast<ProcessPage*>(page_.data()); }
  bool end_life(const End& end, int64_t pid);
  std::string state_text() const;
  std::string state_text(const Entry& entry) const;
  std::vector<std::string> names() const;
  void forget_idle();
  void wake();

  const std::unique_ptr<Launcher> launcher_;
  MemoryBudget* const budget_;
  const Pauses pauses_;
  const Descriptor wake_event_;
  std::thread keeper_;  // started under mutex_, joined by the destructor
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint32_t, Entry> entries_;                   // guarded by mutex_, like everything below
  std::vector<std::weak_ptr<ServerChannel>> channels_;  // of the current process
  // of the current process; their runs continue
  std::vector<std::shared_ptr<ServerChannel>> given_up_;
  Descriptor socket_, cancel_event_, output_;
  Area page_;  // ProcessPage of the current process
  int64_t pid_ = 0;
  uint32_t next_id_ = 1;
  uint32_t deaths_ = 0;  // consecutive
  uint64_t started_ns_ = 0;
  uint64_t starts_ns_ = 0;  // time of the next start; 0 = running, or being started
  std::string death_;       // how the last one ended
  std::string fault_;       // our reason for ending it
  bool stopping_ = false;
  std::timed_mutex retry_mutex_;
  std::mutex forgotten_mutex_;
  std::vector<uint64_t> forgotten_;  // guarded by forgotten_mutex_
};

// "m1,m2"
std::string joined(const std::vector<std::string>& names);

// Records deaths and processes for the log and the metrics; see isolated.h. Any thread.
void note_death(const std::vector<std::string>& models, const End& end, int64_t pid,
                uint64_t pause_ms);
// Records that a running process could not reload a model.
void note_reload(const std::string& model, const std::string& problem, int64_t pid,
                 uint64_t pause_ms);
// Adds the fallbacks that an ended process had counted in its pool of pinned memory.
void note_fallbacks(uint64_t count);
void note_process(const std::shared_ptr<ModelProcess>& process);
// Tells all processes that a client's shared device memory is closed.
void forget_memory(uint64_t id);

}  // namespace serval::isolated
