// See regex.h. Load thread; patterns that are data, any thread.
#include "tabular/pmml/functions/regex.h"

namespace serval::tabular::pmml {
namespace {

constexpr size_t kPatternBytesMax = 65'536;

}  // namespace

Result<std::shared_ptr<const JavaRegex>> compile_regex(std::string_view pattern) {
  if (pattern.size() > kPatternBytesMax) {
    return invalid_argument("a regular expression is longer than " +
                            std::to_string(kPatternBytesMax) + " bytes");
  }
  auto made = JavaRegex::compile(pattern);
  if (!made.ok()) return invalid_argument(made.error().message);
  return std::make_shared<const JavaRegex>(std::move(made.value()));
}

Result<std::string> java_replacement(std::string_view text, const RE2& regex) {
  std::string made;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      at += 1;
      if (at == text.size()) return invalid_argument("a replacement ends with a backslash");
      if (text[at] == '\\') made += '\\';
      made += text[at];
      continue;
    }
    if (text[at] != '$') {
      made += text[at];
      continue;
    }
    int group = -1;
    while (at + 1 < text.size() && text[at + 1] >= '0' && text[at + 1] <= '9') {
      const int next = (group < 0 ? 0 : group * 10) + (text[at + 1] - '0');
      if (group >= 0 && next > regex.NumberOfCapturingGroups()) break;
      group = next;
      at += 1;
    }
    if (group < 0 || group > 9 || group > regex.NumberOfCapturingGroups()) {
      return invalid_argument("a replacement names a group that the pattern has not");
    }
    made += '\\';
    made += static_cast<char>('0' + group);
  }
  return made;
}

}  // namespace serval::tabular::pmml
