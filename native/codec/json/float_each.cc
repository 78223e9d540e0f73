// Shortest text of many floats one by one, for CPUs without AVX2; CMakeLists.txt compiles this file
// or float_batch.cc. Hot path; pure, any thread.
#include <cstring>

#include "codec/json/float_text.h"
#include "codec/json/text.h"

namespace serval::float_text {

char* write_floats(char* out, const uint8_t* data, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    float value = 0;
    std::memcpy(&value, data + i * sizeof value, sizeof value);
    out = write_float(out, value);
    *out++ = ',';
  }
  return out;
}

char* write_float_rows(char* out, const uint8_t* data, uint64_t count, uint64_t row) {
  for (uint64_t at = 0; at < count; at += row) {
    out = write_floats(out, data + at * sizeof(float), row);
    std::memcpy(out - 1, "],[", 3);
    out += 2;
  }
  return out;
}

}  // namespace serval::float_text
