// The tasks of MultiInferenceRequests. Each task is run at once or queued as a request, and uses
// the bytes of the one message; the results are joined in the order of the tasks, and the first
// failure ends them all. Hot path; the listener's thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "codec/examples/multi.h"
#include "engine/lane/arrival.h"
#include "engine/lane/inline_runner.h"
#include "engine/lane/queueing.h"
#include "engine/lane/replies.h"
#include "engine/lane/state.h"
#include "engine/lane/traces.h"

namespace serval {

// The tasks of one request. Lives as long as a request points to it.
struct TaskGroup {
  struct Part {
    Request* request = nullptr;  // null: not begun, or its result is in the response, or dropped
    bool answered = false;
  };
  Request* whole = nullptr;   // has the message, and gets the response
  std::vector<TfTask> tasks;  // views of the message
  std::vector<Part> parts;    // by task
  size_t next = 0;            // the task whose result comes next in the response
  size_t working = 0;         // parts that other threads work on: the message must be kept
  bool over = false;          // it failed, or its client left: the response is an error
};

class Tasks {
 public:
  // Borrows these parts of its lane.
  Tasks(LaneState& state, ArrivalTraces& traces, ErrorReplies& replies, Queueing& queueing,
        InlineRunner& inline_runner)
      : state_(state),
        traces_(traces),
        replies_(replies),
        queueing_(queueing),
        inline_runner_(inline_runner) {
    answer_.response.charge_to(state.budget.get());
  }

  // Accepts a MultiInferenceRequest that has arrived.
  Answer accept(const Arrival& arrival);
  // Begins the tasks of a request that waited for its model's load. Returns false if it ended
  // instead, with its outcome stored.
  bool begin_again(Request& whole);
  // Ends a request whose client left. Returns true if it is released; otherwise its tasks run, and
  // a completion follows.
  bool cancel(Request& whole);
  // Records the outcome of a completed task. Returns the whole request once no thread works on it
  // any more, else null.
  Request* finish(Request& done);

 private:
  std::optional<Answer> run_here(const Arrival& arrival, Model& model, const Admission& admission,
                                 size_t& done);
  Answer queue(const Arrival& arrival, const std::shared_ptr<Model>& model, Admission admission,
               size_t first, uint64_t spent_ns);
  bool queue_all(Request& whole, const std::shared_ptr<Model>& model, size_t first,
                 uint64_t timeout_us, uint64_t spent_ns);
  Answer wait_for_load(const Arrival& arrival, const std::shared_ptr<Model>& model,
                       Admission admission);
  Status queue_one(const std::shared_ptr<TaskGroup>& group, size_t at,
                   const std::shared_ptr<Model>& model, uint64_t timeout_us, uint64_t spent_ns);
  void end(TaskGroup& group);
  void add_results(TaskGroup& group);

  LaneState& state_;
  ArrivalTraces& traces_;
  ErrorReplies& replies_;
  Queueing& queueing_;
  InlineRunner& inline_runner_;
  // Reused from request to request.
  std::vector<TfTask> tasks_;
  Request answer_;  // the response of one task that runs at once
};

}  // namespace serval
