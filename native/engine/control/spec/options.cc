// Checks of ONNX Runtime's options. Control plane, any thread.
#include "engine/control/spec/options.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/generated/runtime_options.h"

namespace serval {
namespace {

constexpr size_t kShownBytes = 100;
constexpr size_t kValueBytesMax = 65'536;
constexpr size_t kNameBytesMax = 128;

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_control);
}

// Returns `text` for a message: control characters as \xNN, cut after 100 bytes.
std::string shown(std::string_view text) {
  std::string result = "'";
  for (const char c : text.substr(0, kShownBytes)) {
    if (!is_control(c)) {
      result += c;
      continue;
    }
    constexpr char kHex[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    result += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
  }
  return result + (text.size() > kShownBytes ? "...'" : "'");
}

bool has_only(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [others](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x80 && std::isalnum(byte) != 0) || others.find(c) != std::string_view::npos;
  });
}

bool is_whole(std::string_view text, int64_t min, int64_t max) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, number);
  return failed == std::errc() && stop == end && number >= min && number <= max;
}

bool is_word(std::string_view text, std::string_view words) {
  while (true) {
    const size_t end = words.find('|');
    if (words.substr(0, end) == text) return true;
    if (end == std::string_view::npos) return false;
    words.remove_prefix(end + 1);
  }
}

// Returns whether the value is valid for the option; does not check paths.
bool fits(const RuntimeOption& option, std::string_view value) {
  if (value.empty() || value.size() > kValueBytesMax) return false;
  switch (option.kind) {
    case OptionKind::Switch: return value == "0" || value == "1";
    case OptionKind::Bool: return is_word(value, "0|1|true|false|True|False");
    case OptionKind::Int: return is_whole(value, option.min, option.max);
    case OptionKind::Words: return is_word(value, option.words);
    case OptionKind::Affinities:
      return value.find_first_not_of("0123456789,;-") == std::string_view::npos;
    case OptionKind::List: return has_only(value, "_,.:+-");
    case OptionKind::Name:
      return value.size() <= kNameBytesMax && value[0] != '.' && has_only(value, "_.-");
    case OptionKind::Shapes:
    case OptionKind::Path: return true;
  }
  return false;
}

// Returns the path with links resolved; "" if there is no such file.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> found(realpath(path.c_str(), nullptr),
                                                          &std::free);
  return found == nullptr ? std::string() : std::string(found.get());
}

std::string folder_of(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return path;
  const size_t end = path.find_last_of('/');
  return end == std::string::npos ? "." : path.substr(0, end + 1);
}

// Returns the absolute path that `value` leads to from the model's version folder, links resolved;
// its last part need not exist. Returns "" if it leads out of the folder, or nowhere.
std::string path_inside(const std::string& value, const std::string& model_path) {
  const std::string folder = real_path(folder_of(model_path));
  if (folder.empty()) return {};
  const std::string path = value[0] == '/' ? value : folder + "/" + value;
  std::string found = real_path(path);
  if (found.empty()) {
    struct stat info {};
    if (lstat(path.c_str(), &info) == 0) return {};  // a link whose target does not exist yet
    const size_t slash = path.find_last_of('/');
    const std::string last = path.substr(slash + 1);
    if (last.empty() || last == "." || last == "..") return {};
    found = real_path(path.substr(0, slash + 1));
    if (found.empty()) return {};
    found += "/" + last;
  }
  return found == folder || found.starts_with(folder + "/") ? found : std::string();
}

Error refused(const std::string& what, std::string_view key, const std::string& expected,
              const std::string& got) {
  return invalid_argument(what + " option " + shown(key) + ": expected " + expected + ", got " +
                          got);
}

const RuntimeOption* find_option(std::string_view scope, std::string_view name) {
  const auto* const found = std::find_if(
      std::begin(kRuntimeOptions), std::end(kRuntimeOptions),
      [=](const RuntimeOption& one) { return one.scope == scope && one.name == name; });
  return found == std::end(kRuntimeOptions) ? nullptr : found;
}

// The runtime reads C strings, which end at NUL.
Status check_text(const std::string& what, std::string_view key, std::string_view value) {
  if (key.empty() || has_control(key)) {
    return refused(what, key, "a name without control characters", shown(key));
  }
  if (!has_control(value)) return ok_status();
  return refused(what, key, "a value without control characters", shown(value));
}

Status check_option(const std::string& what, std::string_view scope, const std::string& key,
                    std::string& value, const std::string& model_path) {
  if (Status text = check_text(what, key, value); !text.ok()) return text;
  const RuntimeOption* const option = find_option(scope, key);
  if (option == nullptr) {
    return refused(what, key,
                   "one that a model's configuration may set (docs/reference/runtime-options.md)",
                   shown(value));
  }
  if (!fits(*option, value)) return refused(what, key, std::string(option->expected), shown(value));
  if (option->kind != OptionKind::Path) return ok_status();
  std::string path = path_inside(value, model_path);
  if (path.empty()) return refused(what, key, std::string(option->expected), shown(value));
  value = std::move(path);
  return ok_status();
}

std::string lower(std::string_view text) {
  std::string copy(text);
  for (char& c : copy) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view kSuffix = "executionprovider";
  if (copy.ends_with(kSuffix)) copy.resize(copy.size() - kSuffix.size());
  return copy;
}

bool is_listed(const ServerOptions& own, const std::string& provider, const std::string& option) {
  return std::any_of(own.begin(), own.end(), [&](const auto& one) {
    return one.first == provider &&
           std::find(one.second.begin(), one.second.end(), option) != one.second.end();
  });
}

Status check_provider(Provider& provider, const ServerOptions& own, const std::string& model_path) {
  if (provider.name.empty() || has_control(provider.name)) {
    return invalid_argument("execution provider: expected a name without control characters, got " +
                            shown(provider.name));
  }
  const std::string what = "execution provider " + provider.name + ":";
  for (auto& [key, value] : provider.options) {
    Status checked = is_listed(own, provider.name, key)
                         ? check_text(what, key, value)
                         : check_option(what, lower(provider.name), key, value, model_path);
    if (!checked.ok()) return checked;
  }
  return ok_status();
}

}  // namespace

Status check_options(ModelSpec& spec, const ServerOptions& own) {
  for (auto& [key, value] : spec.session_config) {
    Status checked = check_option("session", "session", key, value, spec.path);
    if (!checked.ok()) return checked;
  }
  for (Provider& provider : spec.providers) {
    if (Status checked = check_provider(provider, own, spec.path); !checked.ok()) return checked;
  }
  return ok_status();
}

}  // namespace serval
