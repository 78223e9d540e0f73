// The requests that one event-loop iteration of the listener's thread queued for batching: the
// models' instances are woken once, when the iteration ends. Hot path (queued requests); the
// listener's thread.
#pragma once

#include <memory>
#include <vector>

#include "engine/lane/inline_runner.h"
#include "engine/request/completion.h"

namespace serval {

class TurnRequests {
 public:
  // Borrows both.
  TurnRequests(InlineRunner& inline_runner, CompletionQueue& completions)
      : inline_runner_(inline_runner), completions_(completions) {}

  // Adds `request`, which is in the queue of `model`; no instance was notified of it yet.
  void add(const std::shared_ptr<Model>& model, Request& request);
  // Notifies the instances of all requests. A single request, for an idle model, runs right here if
  // that is fast.
  void flush();
  // Drops all entries.
  void clear() { models_.clear(); }
  bool empty() const { return models_.empty(); }

 private:
  struct Unflushed {
    std::shared_ptr<Model> model;
    Request* only = nullptr;  // the request, if it is the first
    uint32_t requests = 0;
  };
  void flush_model(const std::shared_ptr<Model>& model, Request* only);
  void run_here(Model& model, Request& request);

  InlineRunner& inline_runner_;
  CompletionQueue& completions_;
  std::vector<Unflushed> models_;
};

}  // namespace serval
