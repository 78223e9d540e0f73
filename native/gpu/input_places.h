// The preferred memory for the tensors of a model's next run, for code that has to write them
// anyway: memory that a GPU copies from directly. Hot path; the thread of the run.
#pragma once

#include <cstddef>
#include <cstdint>

namespace serval {

class InputPlaces {
 public:
  // Memory for `bytes` of the input at `index`, valid until the run is over; nullptr: any memory
  // will do.
  virtual uint8_t* input_place(size_t index, size_t bytes) = 0;

 protected:
  ~InputPlaces() = default;
};

}  // namespace serval
