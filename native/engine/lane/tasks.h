// The tasks of MultiInferenceRequests, which are queued as requests of their own and use the bytes
// of the one message. Hot path; the listener's thread (tasks.cc has the lane's part of it).
#pragma once

#include <cstddef>
#include <vector>

#include "codec/examples/multi.h"
#include "engine/request/request.h"

namespace serval {

// One request's. Lives as long as a request points to it.
struct TaskGroup {
  struct Part {
    Request* request = nullptr;  // null: not begun, or its result is in the answer, or dropped
    bool answered = false;
  };
  Request* whole = nullptr;   // has the message, and gets the answer
  std::vector<TfTask> tasks;  // views of the message
  std::vector<Part> parts;    // by task
  size_t next = 0;            // the task whose result comes next in the answer
  size_t working = 0;         // parts that others work on: the message is to stay
  bool over = false;          // it failed, or its client left: the answer is an error
};

// What a lane uses again from request to request.
struct TaskMemory {
  explicit TaskMemory(MemoryBudget* budget) { answer.response.charge_to(budget); }

  std::vector<TfTask> tasks;
  Request answer;  // of one task that is run at once
};

}  // namespace serval
