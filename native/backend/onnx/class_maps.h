// Classifiers whose last operator is ZipMap: scikit-learn's, LightGBM's and CatBoost's converters
// write probabilities as a sequence of maps from class to number, which no protocol has. The tensor
// that goes into ZipMap becomes the output, under the same name, and the classes become its labels.
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
  std::string bytes;  // empty: the model is served as it is
  std::vector<ClassOutput> outputs;
};

// Rewrites `model` where ZipMap gives an output of its graph. One whose maps go into other
// operators than Identity stays, and so does all of a model that cannot be read, is too large to be
// written anew, or has no such output: what that means to clients is told by its session.
UnzippedModel unzip_outputs(Bytes model);

}  // namespace serval::ort
