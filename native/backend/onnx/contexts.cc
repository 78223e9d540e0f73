// Finds EPContext nodes and checks what each requires.
#include "backend/onnx/contexts.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

namespace serval::ort {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOp = "EPContext", kDomain = "com.microsoft";
constexpr std::string_view kTensorrt = "tensorrt", kTensorrtSource = "TensorrtExecutionProvider";
constexpr uint32_t kNodeOp = bytes_tag(NodeProto::kOpType);

ContextNode context_of(const OnnxNode& node) {
  ContextNode context;
  context.name = node.name;
  if (const OnnxAttribute* source = node.attribute("source")) context.source = source->text;
  const bool embedded = node.integer("embed_mode", 1) != 0;
  const bool owns = node.integer("main_context", 1) != 0;  // false: it is in another node
  context.names_file = owns && !embedded;
  const OnnxAttribute* file = context.names_file ? node.attribute("ep_cache_context") : nullptr;
  if (file != nullptr) context.file = file->text;
  return context;
}

// TensorRT's provider wrote no source for years, and accepts nodes without one.
std::string provider_of(const ContextNode& node) {
  return node.source.empty() ? std::string(kTensorrt) : short_provider(node.source);
}

bool has(std::span<const std::string> names, const std::string& wanted) {
  return std::any_of(names.begin(), names.end(),
                     [&wanted](const std::string& name) { return short_provider(name) == wanted; });
}

std::string list_of(std::span<const std::string> names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "cpu" : list;
}

Status check_provider(const ContextNode& node, const std::string& path,
                      std::span<const std::string> asked, std::span<const std::string> available) {
  const std::string wanted = provider_of(node);
  const std::string remedy(context_remedy(node));
  const std::string begin = context_text(node, path) + ": ";
  if (has(available, wanted)) {
    if (has(asked, wanted)) return ok_status();
    return make_error(ErrorCode::ModelInvalid, begin + "expected " + wanted +
                                                   " among the model's providers, got " +
                                                   list_of(asked) + remedy);
  }
  const std::string has_not =
      "which this ONNX Runtime library does not have; it has " + list_of(available) + remedy;
  if (wanted == kTensorrt) {
    return make_error(ErrorCode::RuntimeUnavailable,
                      begin + "it needs the provider tensorrt, " + has_not);
  }
  return make_error(
      ErrorCode::ModelInvalid,
      begin + "no provider of this server runs that: it needs " + wanted + ", " + has_not);
}

// The reason why the engine's file can't be used; "" = it can. `roots`: folders in which it may be.
std::string file_problem(const fs::path& folder, const std::string& file,
                         std::span<const fs::path> roots) {
  const fs::path relative(file);
  const bool climbs = file.find("..") != std::string::npos;  // the same check as the provider's
  const bool is_text = !file.empty() && file.find('\0') == std::string::npos;
  if (!is_text || relative.is_absolute() || climbs) {
    return "expected a file in the model's folder, by a path without '..'";
  }
  std::error_code failed;
  const fs::path real = fs::canonical(folder / relative, failed);
  if (failed) return failed.message() + " (" + (folder / relative).string() + ")";
  const bool inside = std::any_of(roots.begin(), roots.end(), [&real](const fs::path& root) {
    const auto [end, rest] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
    return !root.empty() && end == root.end();
  });
  if (!inside) return "is a link out of the model's folder";
  if (!fs::is_regular_file(real, failed)) return "is not a regular file";
  return fs::file_size(real, failed) == 0 ? "is empty" : "";
}

}  // namespace

std::vector<ContextNode> find_contexts(Bytes model) {
  std::vector<ContextNode> found;
  const bool read = visit_nodes(model, [&found](Bytes bytes) {
    bool is_context = false;
    const bool has_op = for_fields(bytes, [&is_context](const WireField& field) {
      if (field.tag == kNodeOp) is_context = text_of(field) == kOp;
      return true;
    });
    OnnxNode context;
    if (!has_op || !is_context || !read_node(bytes, context)) return has_op;
    if (context.domain == kDomain) found.push_back(context_of(context));
    return true;
  });
  if (!read) found.clear();
  return found;
}

std::string short_provider(std::string_view name) {
  constexpr std::string_view kSuffix = "executionprovider";
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (text.ends_with(kSuffix)) text.resize(text.size() - kSuffix.size());
  return text;
}

std::string context_text(const ContextNode& node, const std::string& path) {
  const std::string source =
      node.source.empty() ? std::string(kTensorrtSource) + " (no source is given)" : node.source;
  return "model file " + path + ": node '" + node.name + "' (EPContext) holds an engine of " +
         source;
}

std::string_view context_remedy(const ContextNode& node) {
  return provider_of(node) == kTensorrt ? ": serval gpu install --tensorrt" : "";
}

Status check_contexts(std::span<const ContextNode> nodes, const std::string& path,
                      std::span<const std::string> asked, std::span<const std::string> available) {
  if (nodes.empty()) return ok_status();
  const fs::path model(path);
  const fs::path folder = model.has_parent_path() ? model.parent_path() : fs::path(".");
  std::error_code failed;
  // A model file that is a link may have its engines next to its target, as in caches.
  const fs::path roots[] = {fs::canonical(folder, failed),
                            fs::canonical(model, failed).parent_path()};
  for (const ContextNode& node : nodes) {
    Status runs = check_provider(node, path, asked, available);
    if (!runs.ok()) return runs;
    if (!node.names_file) continue;
    const std::string problem = file_problem(folder, node.file, roots);
    if (problem.empty()) continue;
    return make_error(ErrorCode::ModelInvalid,
                      context_text(node, path) + " in the file '" + node.file + "': " + problem);
  }
  return ok_status();
}

}  // namespace serval::ort
