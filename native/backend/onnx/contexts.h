// EPContext nodes: parts of a graph that a provider has compiled beforehand and that it alone can
// run, such as TensorRT's engines, in the node itself or in a file that it names. Control plane,
// the loading thread. Source: ONNX Runtime's operator EPContext (com.microsoft, version 1).
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
  std::string source;  // the provider that made it, in ONNX Runtime's spelling; "": it is not said
  std::string file;    // below the model's folder; "": its content is in the node, or in another's
  bool names_file = false;
};

// All of a model, those in bodies and functions too. Empty where the bytes are no model: the
// runtime refuses that.
std::vector<ContextNode> find_contexts(Bytes model);

// "CUDAExecutionProvider", "CUDA", "cuda" -> "cuda".
std::string short_provider(std::string_view name);

// How an error of this node begins: its model's file, its name, whose engine it holds.
std::string context_text(const ContextNode& node, const std::string& path);

// What brings the provider that the node needs, as the end of a sentence; "" = we know of nothing.
std::string_view context_remedy(const ContextNode& node);

// Whether the model at `path` can be loaded with what its nodes hold: each of their providers is
// among `asked`, and the files that they name lie in the model's folder or below it, in no spelling
// that TensorRT's provider refuses. `available`: what this ONNX Runtime library has.
// Errors: model_invalid, or runtime_unavailable where the library has no TensorRT; each names file,
// node and source, what was expected and what is there.
Status check_contexts(std::span<const ContextNode> nodes, const std::string& path,
                      std::span<const std::string> asked, std::span<const std::string> available);

}  // namespace serval::ort
