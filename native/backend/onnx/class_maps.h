// Classifiers whose last operator is ZipMap: the converters of scikit-learn, LightGBM and CatBoost
// write probabilities as a sequence of maps from class to number, which no protocol supports.
// ZipMap's input tensor becomes the output, under the same name, and the classes become its labels.
// Control plane, the loading thread. Source: ONNX's ai.onnx.ml ZipMap-1.
#pragma once

#include <string>
#include <vector>

#include "backend/onnx/model.h"

namespace serval::ort {

// An output that was a sequence of maps, and the names of its classes in the tensor's order.
struct ClassOutput {
  std::string name;
  std::vector<std::string> labels;
};

struct UnzippedModel {
  std::string bytes;  // empty: the model is used unchanged
  std::vector<ClassOutput> outputs;
};

// Rewrites `model` if ZipMap produces an output of its graph. Leaves a ZipMap whose maps are used
// by operators other than Identity, and leaves the whole model if it cannot be read, is too large
// to rewrite, or has no such output: the session then determines what clients see.
UnzippedModel unzip_outputs(Bytes model);

}  // namespace serval::ort
