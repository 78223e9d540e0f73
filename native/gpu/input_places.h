// Where a model would have the tensors of its next run, for who writes them anyway: memory that a
// GPU copies from by itself. Hot path; the thread of the run.
#pragma once

#include <cstddef>
#include <cstdint>

namespace serval {

class InputPlaces {
 public:
  // Room for `bytes` of the input at `index`, until the run is over; nullptr: anywhere will do.
  virtual uint8_t* input_place(size_t index, size_t bytes) = 0;

 protected:
  ~InputPlaces() = default;
};

}  // namespace serval
