// Skipped values that do not end within the body. The bytes after it close what it left open, so a
// step that looks at them goes on past the padding, where AddressSanitizer ends it.
#include "codec/json/cursor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

namespace serval {
namespace {

// Returns whether skip_value() refuses `text`, followed by padding that is full of `padding`.
bool refuses(const std::string& text, char padding) {
  const size_t bytes = text.size() + kBodyPadding;
  const std::unique_ptr<char[]> body(new char[bytes]);
  std::memset(body.get(), padding, bytes);
  std::memcpy(body.get(), text.data(), text.size());
  Arena arena;
  FastBody fast({body.get(), text.size()}, arena);
  return skip_value(body.get(), fast) == nullptr;
}

TEST(Cursor, RefusesListsThatDoNotEnd) {
  for (int depth = 1; depth <= 64; ++depth) {
    EXPECT_TRUE(refuses(std::string(depth, '['), ']')) << depth;
    EXPECT_TRUE(refuses(std::string(depth, '[') + "1", ']')) << depth;
    EXPECT_TRUE(refuses(std::string(depth, '[') + "[]", ']')) << depth;
  }
}

TEST(Cursor, RefusesObjectsThatDoNotEnd) {
  std::string text = "{";
  for (int depth = 1; depth <= 60; ++depth, text += R"("a":{)") {
    EXPECT_TRUE(refuses(text, '}')) << depth;
    EXPECT_TRUE(refuses(text + R"("a":1)", '}')) << depth;
  }
}

TEST(Cursor, SkipsWhatEndsWithTheBody) {
  for (const char padding : {']', '}', '\0'}) {
    EXPECT_FALSE(refuses(R"([[1,2],{"a":[],"b":{}}])", padding));
  }
}

}  // namespace
}  // namespace serval
