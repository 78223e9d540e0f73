// Whether bytes are UTF-8. Hot path, any thread; pure.
#pragma once

#include <string_view>

namespace serval {

// True where `text` is valid UTF-8 (no surrogates, no overlong forms).
bool is_valid_utf8(std::string_view text);

}  // namespace serval
