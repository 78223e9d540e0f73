// Fills in the sentences about missing models. Hot path; any thread.
#include "calls/missing_words.h"

#include <string_view>

#include "base/generated/engine_generated.h"
#include "calls/methods.h"

namespace serval {

namespace {

// TypeScript truncates longer names that it echoes (request-text.ts, v2/lookup.ts).
constexpr size_t kEchoedNameMax = 256;
constexpr size_t kEchoedVersionMax = 64;

std::string_view view_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

std::string fill(std::string_view sentence, const fb::Missing& missing) {
  std::string out;
  for (size_t open = sentence.find('{'); open != std::string_view::npos;
       open = sentence.find('{')) {
    out += sentence.substr(0, open);
    const size_t close = sentence.find('}', open);
    const std::string_view name = sentence.substr(open + 1, close - open - 1);
    if (name == "model") out += view_of(missing.model());
    if (name == "version") out += view_of(missing.version());
    if (name == "label") out += view_of(missing.label());
    sentence.remove_prefix(close == std::string_view::npos ? sentence.size() : close + 1);
  }
  return out += sentence;
}

}  // namespace

std::optional<MissingWords> word_missing(const Wording& wording, std::span<const uint8_t> missing) {
  const fb::Missing& names = *flatbuffers::GetRoot<fb::Missing>(missing.data());
  const std::string_view version = view_of(names.version());
  // "007" is echoed as 7.
  const bool odd_version = version.size() > 1 && version[0] == '0';
  if (names.known() || odd_version || view_of(names.model()).size() > kEchoedNameMax ||
      version.size() > kEchoedVersionMax || view_of(names.label()).size() > kEchoedNameMax) {
    return std::nullopt;
  }
  for (const MissingSentence& sentence : wording.missing) {
    if (sentence.part != names.part()) continue;
    if (sentence.versioned != !version.empty()) continue;
    return MissingWords{fill(sentence.text, names), std::string(view_of(names.request_id()))};
  }
  return std::nullopt;
}

}  // namespace serval
