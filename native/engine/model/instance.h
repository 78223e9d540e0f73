// An instance: a named native thread that serves its model's queued requests, one at a time or in
// batches. Hot path (queued requests); that thread.
#pragma once

namespace serval {

class Model;

// Runs until the model's queue is closed, or needs one instance less. Thread: the instance's own.
void run_instance(Model& model, int index);

}  // namespace serval
