// The server's end of a process that has models' sessions: starts it, tells it what to load, hears
// its death, wakes whoever waits for it, and starts it again. Control plane; a keeper thread
// ("sv-keeper") for each process, which also is the thread whose end the process does not outlive.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backend/isolated/control.h"
#include "backend/isolated/launch.h"
#include "backend/isolated/message.h"
#include "backend/isolated/output.h"
#include "backend/isolated/process_page.h"
#include "backend/isolated/slot.h"
#include "backend/isolated/spin.h"
#include "base/memory_budget.h"

namespace serval::isolated {

// Pauses before a process is started again: the first, the longest, and how long one must have
// lived for its death to be like a first one.
struct Pauses {
  uint64_t first_ms = 100;
  uint64_t longest_ms = 30'000;
  uint64_t lived_ms = 60'000;
};
// Before the next start, after `deaths` in a row.
uint64_t pause_ms_after(uint32_t deaths, const Pauses& pauses);

// Runs that were given up, and go on in the process all the same: with so many it is ended.
inline constexpr size_t kGivenUpMax = 32;
// How long a process whose models are all gone may take to end.
inline constexpr uint64_t kEndNs = 5'000'000'000;

// An answer, whatever the budget has left.
inline constexpr uint64_t kAnswerBytesMax = uint64_t{1} << 36;

// What a model is loaded from, in the process.
struct ModelSource {
  std::string name;
  Descriptor spec;      // a blob
  uint64_t device = 0;  // Packet.value of a load
  int64_t version = 0;
};

// The server's end of a slot. One run at a time.
class ServerSlot {
 public:
  // `keep_bytes`: of each area, see Area::set_keep().
  static Result<std::shared_ptr<ServerSlot>> create(MemoryBudget* budget, int cancel_event,
                                                    size_t keep_bytes = kAreaKeepBytes);
  // Closes it.
  ~ServerSlot();
  ServerSlot(const ServerSlot&) = delete;
  ServerSlot& operator=(const ServerSlot&) = delete;

  SlotPage& page() { return *reinterpret_cast<SlotPage*>(page_.data()); }
  Area& page_area() { return page_; }
  Area& requests() { return requests_; }
  Area& answers() { return answers_; }

  // Counts what both areas hold; false where the budget has no room for it.
  [[nodiscard]] bool hold(uint64_t request_bytes, uint64_t answer_bytes);
  // How large an answer may be: what the budget has left.
  uint64_t answer_bytes_max() const;
  // Gives back what large requests and answers took.
  void trim();

  // Hands over what was written as the next request; answers its number.
  uint32_t hand_over(uint64_t bytes);
  enum class Outcome : uint8_t { Answered, Dead, Refused, GivenUp };
  // Until request `number` is answered, the process is dead, nobody there serves the slot, or the
  // run was to end and did not. `ending`: when that was said, 0 = it was not.
  Outcome wait(uint32_t number, const std::atomic<uint64_t>& ending_ns);
  // Request `number` is to end. Any thread; does not block.
  void end_run(uint32_t number);
  // Nothing follows: the process lets go of its end, when what runs there is over.
  void close() { close_slot(page()); }
  // Whether nothing runs there. Any thread, when nobody hands over any more.
  bool idle();
  // The process has ended. Any thread.
  void die();
  bool dead() const { return dead_.load(std::memory_order_acquire); }

 private:
  ServerSlot(Area page, Area requests, Area answers, Descriptor cancel_event, MemoryBudget* budget,
             size_t keep_bytes);
  Outcome outcome(uint32_t number);
  Outcome sleep(uint32_t number, const std::atomic<uint64_t>& ending_ns);

  Area page_, requests_, answers_;
  const Descriptor cancel_event_;
  MemoryBudget* const budget_;
  const uint64_t keep_;
  uint64_t held_ = 0;  // counted in budget_
  uint64_t request_bytes_ = 0, answer_bytes_ = 0;
  std::atomic<bool> dead_{false};
  uint32_t next_ = 0;
  Spin spin_;
};

class ModelProcess {
 public:
  ModelProcess(std::unique_ptr<Launcher> launcher, MemoryBudget* budget, Pauses pauses = {});
  // Ends the process: kindly, after kEndNs by force.
  ~ModelProcess();
  ModelProcess(const ModelProcess&) = delete;
  ModelProcess& operator=(const ModelProcess&) = delete;

  struct Added {
    uint32_t id = 0;
    BackendModelInfo info;
    std::shared_ptr<const std::atomic<bool>> up;  // whether it can be run now
  };
  // Loads a model, and starts the process where there is none. Blocks until it is loaded.
  // Errors: those of the backend there; backend_failed where the process ends meanwhile.
  Result<Added> add(ModelSource source);
  void remove(uint32_t id);
  // A slot of the model. Errors: model_not_ready (with what is left of the pause), memory_full.
  Result<std::shared_ptr<ServerSlot>> open(uint32_t id);
  // What a request is told whose process ended.
  Error death_error(uint32_t id);
  // Takes a slot whose run was given up, and may go on: its memory is counted until that is over.
  // With kGivenUpMax of them the process is ended.
  void give_up(std::shared_ptr<ServerSlot> slot);
  // Ends the process, which is not what it should be; it is started again as after any death.
  void end(const std::string& why);

  // No request names this device memory of a client any more. Does not block.
  void forget_memory(uint64_t id);

  // "m1,m2": in order, each once.
  std::string models();
  // Of its models, "0"; "" = those that a model says itself, or none.
  std::string device();
  int64_t pid();
  bool up();
  // Of its pool of pinned memory.
  gpu::PinnedReading pinned();
  // Why a model that was loaded here cannot be run now; "" where it can, nothing where there is no
  // such model.
  std::optional<std::string> outage(const std::string& model, int64_t version);

 private:
  enum class Load : uint8_t { Asked, Done, Failed };
  struct Entry {
    ModelSource source;
    Load load = Load::Asked;
    bool first = true;                // add() waits for it
    std::vector<uint8_t> signatures;  // as first loaded
    Result<BackendModelInfo> info{Error{}};
    std::shared_ptr<std::atomic<bool>> up = std::make_shared<std::atomic<bool>>(false);
    std::string problem;    // why it was not loaded again; the process goes on
    uint32_t failures = 0;  // of loading it again, in a row
    uint64_t again_ns = 0;  // when that is tried again; 0 = it is not due
  };

  void keep();
  Status start_process();
  void serve_process();
  bool next_packet(int socket);
  void hear(Received& received);
  void note_load(uint32_t id, bool loaded, Result<std::vector<uint8_t>> blob);
  void note_reload(uint32_t id, Entry& entry, const std::string& problem);
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
  std::map<uint32_t, Entry> entries_;                  // guarded by mutex_, as all below
  std::vector<std::weak_ptr<ServerSlot>> slots_;       // of the present process
  std::vector<std::shared_ptr<ServerSlot>> given_up_;  // likewise; what runs there goes on
  Descriptor socket_, cancel_event_, output_;
  Area page_;  // ProcessPage; of the present process
  int64_t pid_ = 0;
  uint32_t next_id_ = 1;
  uint32_t deaths_ = 0;  // in a row
  uint64_t started_ns_ = 0;
  uint64_t starts_ns_ = 0;  // when it starts again; 0 = it runs, or is being started
  std::string death_;       // how the last one ended
  std::string fault_;       // why we end it ourselves
  bool stopping_ = false;
  std::mutex forgotten_mutex_;
  std::vector<uint64_t> forgotten_;  // guarded by forgotten_mutex_
};

// "m1,m2"
std::string joined(const std::vector<std::string>& names);

// Deaths and processes for the log and the metrics; see isolated.h. Any thread.
void note_death(const std::vector<std::string>& models, const End& end, int64_t pid,
                uint64_t pause_ms);
// A model that could not be loaded again by a process that goes on.
void note_reload(const std::string& model, const std::string& problem, int64_t pid,
                 uint64_t pause_ms);
// What a process that ended had counted of its pool of pinned memory.
void note_fallbacks(uint64_t count);
void note_process(const std::shared_ptr<ModelProcess>& process);
// Tells all processes of device memory that a client shared and that is closed now.
void forget_memory(uint64_t id);

}  // namespace serval::isolated
