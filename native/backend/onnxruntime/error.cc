// Converts the runtime's statuses to errors. Control plane, any thread.
#include "backend/onnxruntime/error.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "base/bytes/views.h"
#include "base/signature.h"

namespace serval::ort {
namespace {

// The latest log lines of this thread, for Error.detail. Plain memory without a destructor, because
// the runtime's own threads log too.
struct LoggedText {
  size_t bytes;
  char text[2048];
};
thread_local LoggedText logged_text;

std::string take_logged_text() {
  std::string text(logged_text.text, logged_text.bytes);
  logged_text.bytes = 0;
  return text;
}

// End of the bracketed text that opens at `at`; npos if it never closes.
size_t closing(std::string_view text, size_t at, char open, char close) {
  size_t depth = 0;
  for (size_t i = at; i < text.size(); ++i) {
    if (text[i] == open) ++depth;
    if (text[i] == close && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

void skip(std::string_view text, size_t& at, std::string_view part) {
  if (text.substr(at).starts_with(part)) at += part.size();
}

bool is_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Returns the index after "/path/file.cc:83 Type name(arguments) const [with T = ...] " or
// "file.h:59 Name ", the runtime's two forms of a code location, at `at`; `at` if it is neither.
size_t behind_code_location(std::string_view text, size_t at) {
  size_t i = text.find_first_of(" :", at);
  if (i == std::string_view::npos || text[i] != ':') return at;
  const std::string_view file = text.substr(at, i - at);
  if (!file.ends_with(".cc") && !file.ends_with(".h") && !file.ends_with(".cpp")) return at;
  ++i;
  if (i == text.size() || !is_digit(text[i])) return at;
  while (i < text.size() && is_digit(text[i])) ++i;
  skip(text, i, " ");
  if (file.find('/') == std::string_view::npos) {
    size_t end = i;
    while (end < text.size() && is_identifier(text[end])) ++end;
    return end < text.size() && text[end] == ' ' ? end + 1 : i;
  }
  const size_t open = text.find('(', i);
  if (open == std::string_view::npos) return i;
  size_t end = closing(text, open, '(', ')');
  if (end == std::string_view::npos) return i;
  skip(text, end, " const");
  if (text.substr(end).starts_with(" [with ")) {
    const size_t with_end = closing(text, end + 1, '[', ']');
    if (with_end != std::string_view::npos) end = with_end;
  }
  skip(text, end, " ");
  return end;
}

// Returns the index after "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : " at `at`, or `at`.
size_t behind_error_prefix(std::string_view text, size_t at) {
  constexpr std::string_view kPrefix = "[ONNXRuntimeError] : ";
  if (!text.substr(at).starts_with(kPrefix)) return at;
  size_t i = at + kPrefix.size();
  for (int part = 0; part < 2; ++part) {
    const size_t colon = text.find(" : ", i);
    if (colon == std::string_view::npos) return i;
    i = colon + 3;
  }
  return i;
}

// The runtime's text around a kernel's reason; empty views if it names no node.
struct NodeFailure {
  std::string_view op, node, reason;
};

// For nested graphs, the innermost node, whose kernel failed. The views are into `text`.
NodeFailure node_failure(std::string_view text) {
  constexpr std::string_view kRunning = "Non-zero status code returned while running ";
  constexpr std::string_view kName = " node. Name:'";
  constexpr std::string_view kReason = "' Status Message: ";
  const size_t running = text.rfind(kRunning);
  if (running == std::string_view::npos) return {};
  const size_t op = running + kRunning.size();
  const size_t name = text.find(kName, op);
  const size_t reason = name == std::string_view::npos ? name : text.find(kReason, name);
  if (reason == std::string_view::npos) return {};
  const size_t node = name + kName.size();
  return {text.substr(op, name - op), text.substr(node, reason - node),
          text.substr(reason + kReason.size())};
}

// Whether every other request would have failed too: because of the machine, a device, or the
// runtime itself.
bool is_own_fault(OrtErrorCode code, std::string_view reason) {
  switch (code) {
    case ORT_FAIL:
    case ORT_INVALID_ARGUMENT:
    case ORT_RUNTIME_EXCEPTION: break;
    default: return true;
  }
  constexpr std::string_view kOwn[] = {
      "bad_alloc",       "allocate memory", "out of memory", "available memory",
      "not implemented", "terminate flag",  "cuda",          "cudnn",
      "cublas",          "tensorrt"};
  std::string lower(reason);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::any_of(std::begin(kOwn), std::end(kOwn), [&lower](std::string_view part) {
    return lower.find(part) != std::string::npos;
  });
}

constexpr size_t kInputsShown = 8;

bool contradicts(const FedInput& input) {
  return !input.spec.unknown_rank && !fits_declared(input.spec, input.shape);
}

// For example "'x' [2,5] where [-1,4] is declared, 'y' [3]".
std::string shapes_text(std::span<const FedInput> inputs) {
  std::string text;
  for (size_t i = 0; i < std::min(inputs.size(), kInputsShown); ++i) {
    const auto& [spec, shape] = inputs[i];
    if (i > 0) text += ", ";
    text += '\'' + spec.name + "' " + shape.to_string();
    if (contradicts(inputs[i])) text += " where " + dims_text(spec) + " is declared";
  }
  if (inputs.size() <= kInputsShown) return text;
  return text + " and " + std::to_string(inputs.size() - kInputsShown) + " more";
}

}  // namespace

std::string clean_message(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const bool starts_word = clean.empty() || clean.back() == ' ';
    if (starts_word || clean.back() == ':') {
      size_t next = behind_code_location(text, i);
      if (next == i) next = behind_error_prefix(text, i);
      if (next != i) {
        i = next;
        continue;
      }
    }
    const char c = text[i++];
    if (c == kKernelMark) continue;
    if (!std::isspace(static_cast<unsigned char>(c))) clean += c;
    else if (!starts_word) clean += ' ';
  }
  while (!clean.empty() && clean.back() == ' ') clean.pop_back();
  return clean;
}

Error take_error(const OrtApi& api, OrtStatus* status, ErrorCode code, std::string_view what) {
  const std::string raw = api.GetErrorMessage(status);
  api.ReleaseStatus(status);
  std::string detail = raw;
  const std::string logged = take_logged_text();
  if (!logged.empty() && logged != raw + '\n') detail.append("\nlog: ").append(logged);
  std::string message(what);
  message.append(": ").append(clean_message(raw));
  if (raw.find("Could not find an implementation for") != std::string::npos) {
    message.append(
        "; the runtime has no kernel of this operator for the types of its inputs. If they are "
        "double (float64), export the model with float32 inputs (skl2onnx: FloatTensorType, or "
        "float32 samples)");
  }
  return make_error(code, std::move(message), std::move(detail));
}

std::string_view kernel_words(std::string_view text) {
  const size_t first = text.find(kKernelMark);
  if (first == std::string_view::npos) return {};
  const size_t last = text.find(kKernelMark, first + 1);
  if (last == std::string_view::npos) return {};
  return text.substr(first + 1, last - first - 1);
}

Error run_error(const OrtApi& api, OrtStatus* status, std::span<const FedInput> inputs) {
  const OrtErrorCode code = api.GetErrorCode(status);
  const std::string words(kernel_words(api.GetErrorMessage(status)));
  const std::string text = clean_message(api.GetErrorMessage(status));
  const auto [op, node, reason] = node_failure(text);
  const bool says_so = code == ORT_INVALID_ARGUMENT;
  const bool refused = says_so || (!op.empty() && words.empty() && !is_own_fault(code, reason));
  Error error =
      take_error(api, status, refused ? ErrorCode::InvalidArgument : ErrorCode::BackendFailed,
                 refused ? "the model refuses its input" : "the model failed");
  if (!refused) return error;
  if (!words.empty()) {
    error.message = words;  // in TensorFlow's words
    if (std::none_of(inputs.begin(), inputs.end(), contradicts)) return error;
  } else if (!op.empty()) {
    error.message = "the model refuses its input: " + std::string(op) + " node '" +
                    std::string(node) + "': " + std::string(reason);
  }
  error.message += "; inputs: " + shapes_text(inputs);
  return error;
}

void drop_status(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return;
  api.ReleaseStatus(status);
  logged_text.bytes = 0;
}

void collect_log(void*, OrtLoggingLevel, const char*, const char*, const char*,
                 const char* message) {
  LoggedText& logged = logged_text;
  const size_t bytes = std::strlen(message);
  // A line that does not fit after the older ones replaces them.
  if (bytes + 1 > sizeof logged.text - logged.bytes) logged.bytes = 0;
  const size_t kept = std::min(bytes, sizeof logged.text - 1);
  std::memcpy(logged.text + logged.bytes, message, kept);
  logged.text[logged.bytes + kept] = '\n';
  logged.bytes += kept + 1;
}

}  // namespace serval::ort
