// EPContext nodes: parts of a graph that a provider compiled beforehand and only it can run, such
// as TensorRT's engines, stored in the node itself or in a file that it names. Control plane, the
// loading thread. Source: ONNX Runtime's operator EPContext (com.microsoft, version 1).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/onnx/model.h"
#include "base/error.h"

namespace serval::ort {

struct ContextNode {
  std::string name;
  std::string source;  // the provider that made it, in ONNX Runtime's spelling; "" = not stated
  // below the model's folder; "" = its content is in the node, or in another one
  std::string file;
  bool names_file = false;
};

// All of a model, including those in bodies and functions. Empty if the bytes are not a model: the
// runtime refuses that.
std::vector<ContextNode> find_contexts(Bytes model);

// "CUDAExecutionProvider", "CUDA", "cuda" -> "cuda".
std::string short_provider(std::string_view name);

// The start of an error about this node: its model's file, its name, whose engine it holds.
std::string context_text(const ContextNode& node, const std::string& path);

// How to get the provider that the node needs, as the end of a sentence; "" = unknown.
std::string_view context_remedy(const ContextNode& node);

// Checks that the model at `path` can be loaded with the content of its nodes: each of their
// providers is among `asked`, and the files that they name are in the model's folder or below it,
// in no spelling that TensorRT's provider refuses. `available`: the providers of this ONNX Runtime
// library.
// Errors: model_invalid, or runtime_unavailable if the library has no TensorRT; each names file,
// node and source, what was expected and what was found.
Status check_contexts(std::span<const ContextNode> nodes, const std::string& path,
                      std::span<const std::string> asked, std::span<const std::string> available);

}  // namespace serval::ort
