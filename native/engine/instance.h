// An instance: a named native thread that takes requests from its model's queue, one at a time.
#pragma once

namespace serval {

class Model;

// Runs until the model's queue is closed. Thread: the instance's own.
void run_instance(Model& model, int index);

}  // namespace serval
