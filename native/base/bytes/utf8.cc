// Checks UTF-8 with simdjson, many bytes at a time. Hot path, any thread.
#include "base/bytes/utf8.h"

#include <simdjson.h>

namespace serval {

bool is_valid_utf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

}  // namespace serval
