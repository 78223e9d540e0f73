// Golden cases with TensorFlow's results (goldens/, made by make-goldens.py). Test code.
#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <fstream>
#include <sstream>

#include "operators/support/fake_context.h"
#include "source_folder.h"

namespace serval::operators {

namespace dom = simdjson::dom;

inline std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

template <typename T>
T as(dom::element element) {
  T value{};
  EXPECT_EQ(element.get(value), simdjson::SUCCESS);
  return value;
}
inline std::string_view text_of(dom::element element) { return as<std::string_view>(element); }

inline FakeTensor read_tensor(dom::element given) {
  FakeTensor tensor;
  dom::object object;
  if (given.get(object) != simdjson::SUCCESS) return tensor;  // null: omitted
  for (const auto [key, value] : object) {
    if (key == "dtype") {
      tensor.dtype = dtype_from_name(text_of(value));
    } else if (key == "shape") {
      for (const dom::element dim : as<dom::array>(value)) tensor.dims.push_back(as<int64_t>(dim));
    } else if (key == "data") {
      tensor.raw = from_hex(text_of(value));
    } else {
      for (const dom::element text : as<dom::array>(value)) {
        tensor.texts.push_back(from_hex(text_of(text)));
      }
    }
  }
  return tensor;
}

inline void read_attribute(const std::string& name, dom::object value, FakeAttributes& out) {
  for (const auto [kind, content] : value) {
    if (kind == "int") out.ints[name] = as<int64_t>(content);
    if (kind == "float") out.floats[name] = static_cast<float>(as<double>(content));
    if (kind == "text") out.strings[name] = from_hex(text_of(content));
    if (kind == "ints") {
      for (const dom::element one : as<dom::array>(content)) {
        out.int_lists[name].push_back(as<int64_t>(one));
      }
    }
    if (kind == "floats") {
      for (const dom::element one : as<dom::array>(content)) {
        out.float_lists[name].push_back(static_cast<float>(as<double>(one)));
      }
    }
  }
}

struct GoldenCase {
  std::string name, op;
  FakeAttributes attributes;
  std::vector<FakeTensor> inputs, outputs;
  std::string error;   // TensorFlow's message if it refuses the inputs
  bool exact = false;  // our message must be the same
  size_t output_count() const { return error.empty() ? outputs.size() : 64; }
};

inline GoldenCase read_case(dom::object row) {
  GoldenCase golden;
  for (const auto [key, value] : row) {
    if (key == "name") golden.name = text_of(value);
    if (key == "op") golden.op = text_of(value);
    if (key == "exact") golden.exact = as<bool>(value);
    if (key == "error") golden.error = text_of(value);
    if (key == "attributes") {
      for (const auto [name, content] : as<dom::object>(value)) {
        read_attribute(std::string(name), as<dom::object>(content), golden.attributes);
      }
    }
    if (key != "inputs" && key != "outputs") continue;
    for (const dom::element tensor : as<dom::array>(value)) {
      (key == "inputs" ? golden.inputs : golden.outputs).push_back(read_tensor(tensor));
    }
  }
  return golden;
}

// Returns the cases of goldens/<group>.json.
inline std::vector<GoldenCase> read_goldens(const std::string& group) {
  const std::string path = source_folder() + "/test/native/operators/goldens/" + group + ".json";
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  const simdjson::padded_string json(content.str());
  dom::parser parser;
  dom::array rows;
  EXPECT_EQ(parser.parse(json).get(rows), simdjson::SUCCESS) << path;
  std::vector<GoldenCase> cases;
  for (const dom::element row : rows) cases.push_back(read_case(as<dom::object>(row)));
  EXPECT_GT(cases.size(), 5u) << path;
  return cases;
}

inline constexpr const char* kGoldenGroups[] = {
    "example", "sequence", "hash",      "cross",      "sparse",   "segment",
    "ragged",  "count",    "selection", "ctc_greedy", "ctc_beam", "trees",
};

}  // namespace serval::operators
