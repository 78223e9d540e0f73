// What one turn of the listener's thread queued for batching: its models' instances hear of it when
// the turn ends, of all at once. Hot path (queued requests); the listener's thread.
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

  // `request` is in the queue of `model`, of which nobody was told yet.
  void add(const std::shared_ptr<Model>& model, Request& request);
  // Tells of all. One that came alone, to a model with nothing else to do, is run right here where
  // that is fast.
  void flush();
  // Forgets all.
  void clear() { models_.clear(); }
  bool empty() const { return models_.empty(); }

 private:
  struct Unflushed {
    std::shared_ptr<Model> model;
    Request* only = nullptr;  // the request, where it is the first
    uint32_t requests = 0;
  };
  void flush_model(const std::shared_ptr<Model>& model, Request* only);
  void run_here(Model& model, Request& request);

  InlineRunner& inline_runner_;
  CompletionQueue& completions_;
  std::vector<Unflushed> models_;
};

}  // namespace serval
