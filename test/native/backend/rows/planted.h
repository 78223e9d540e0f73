// Parts of graphs with planted couplings: steps that keep rows apart, steps that do not, and
// endings that hide the values before them. Test code.
#pragma once

#include "backend/rows/support.h"

namespace serval::rows::test {

// Adds nodes from one tensor to another, both [n, 4].
struct Step {
  const char* name;
  void (*add)(Graph& graph, const std::string& from, const std::string& to);
};

inline std::string named(const std::string& to, const char* part) { return to + "_" + part; }

// Steps of models that have no coupling.
inline const Step kSteps[] = {
    {"dense",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("MatMul", {from, "w"}, {named(to, "m")});
       graph.node("Relu", {named(to, "m")}, {to});
     }},
    {"normalised",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("LayerNormalization", {from, "g"}, {to});
     }},
    {"attended",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("Reshape", {from, "pairs"}, {named(to, "r")});
       graph.node("Transpose", {named(to, "r")}, {named(to, "t")},
                  {attribute("perm", std::vector<int64_t>{0, 2, 1})});
       graph.node("MatMul", {named(to, "r"), named(to, "t")}, {named(to, "s")});
       graph.node("Softmax", {named(to, "s")}, {named(to, "p")});
       graph.node("MatMul", {named(to, "p"), named(to, "r")}, {named(to, "o")});
       graph.node("Reshape", {named(to, "o"), "fours"}, {to});
     }},
    {"distributed",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("Reshape", {from, "twos"}, {named(to, "r")});
       graph.node("Sigmoid", {named(to, "r")}, {named(to, "s")});
       graph.node("Reshape", {named(to, "s"), "fours"}, {to});
     }},
    {"gated",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("ReduceMax", {from, "one"}, {named(to, "m")});
       graph.node("Sub", {from, named(to, "m")}, {named(to, "d")});
       graph.node("Where", {"yes", named(to, "d"), from}, {to});
     }},
};

// Every kind of coupling that once gave several callers' requests wrong responses.
inline const Step kCouplings[] = {
    {"a scale of the whole batch",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("DynamicQuantizeLinear", {from},
                  {named(to, "q"), named(to, "s"), named(to, "z")});
       graph.node("DequantizeLinear", {named(to, "q"), named(to, "s"), named(to, "z")}, {to});
     }},
    {"a scale that is written out",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("Abs", {from}, {named(to, "a")});
       graph.node("ReduceMax", {named(to, "a")}, {named(to, "m")});
       graph.node("Div", {from, named(to, "m")}, {to});
     }},
    {"the mean of all",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("ReduceMean", {from}, {named(to, "m")});
       graph.node("Sub", {from, named(to, "m")}, {to});
     }},
    {"a softmax over the rows",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("Softmax", {from}, {to}, {axis(0)});
     }},
    {"a batch normalisation that trains",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("BatchNormalization", {from, "g", "g", "g", "g"},
                  {to, named(to, "m"), named(to, "v")}, {attribute("training_mode", int64_t{1})});
     }},
    {"a floor that only large values reach",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("ReduceMax", {from}, {named(to, "m")});
       graph.node("Sub", {named(to, "m"), "eight"}, {named(to, "f")});
       graph.node("Max", {from, named(to, "f")}, {to});
     }},
    {"a scale that only large values switch on",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("ReduceMax", {from}, {named(to, "m")});
       graph.node("Greater", {named(to, "m"), "eight"}, {named(to, "g")});
       graph.node("Div", {from, "eight"}, {named(to, "d")});
       graph.node("Where", {named(to, "g"), named(to, "d"), from}, {to});
     }},
    {"a length that is that of the longest row",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("Cast", {from}, {named(to, "i")}, {attribute("to", int64_t{onnx::kInt64})});
       graph.node("ReduceSum", {named(to, "i"), "one"}, {named(to, "l")},
                  {attribute("keepdims", int64_t{0})});
       graph.node("ReduceMax", {named(to, "l"), "zero"}, {named(to, "m")});
       graph.node("Slice", {from, "zero", named(to, "m"), "one"}, {to});
     }},
    {"every row beside all rows",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("Transpose", {from}, {named(to, "t")});
       graph.node("MatMul", {from, named(to, "t")}, {named(to, "p")});
       graph.node("MatMul", {named(to, "p"), from}, {to});
     }},
    {"a running sum over the rows",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("CumSum", {from, "zero"}, {to});
     }},
    {"the first row for all",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("Gather", {from, "zero"}, {named(to, "f")});
       graph.node("Add", {from, named(to, "f")}, {to});
     }},
    {"the number of rows",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("Shape", {from}, {named(to, "s")});
       graph.node("Gather", {named(to, "s"), "zero"}, {named(to, "n")});
       graph.node("Cast", {named(to, "n")}, {named(to, "c")},
                  {attribute("to", int64_t{onnx::kFloat})});
       graph.node("Div", {from, named(to, "c")}, {to});
     }},
    {"rows that are mixed by a reshape",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("Transpose", {from}, {named(to, "t")});
       graph.node("Reshape", {named(to, "t"), "fours"}, {to});
     }},
    {"random numbers",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("RandomNormalLike", {from}, {named(to, "r")});
       graph.node("Add", {from, named(to, "r")}, {to});
     }},
    {"a layer norm over the rows",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("LayerNormalization", {from, "g"}, {to}, {axis(0)});
     }},
    {"an order of the rows",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("TopK", {from, "one"}, {named(to, "v"), named(to, "i")}, {axis(0)});
       graph.node("Mul", {from, named(to, "v")}, {to});
     }},
};

// Endings with few bits of output, through which a probe sees little of the values before them.
inline const Step kEnds[] = {
    {"numbers", [](Graph& graph, const std::string& from,
                   const std::string& to) { graph.node("Identity", {from}, {to}); }},
    {"a label",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("ArgMax", {from}, {to}, {axis(1), attribute("keepdims", int64_t{0})});
     }},
    {"the best three",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("TopK", {from, "three"}, {named(to, "v"), to});
     }},
    {"yes or no",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.node("Greater", {from, "eight"}, {to});
     }},
    {"whole numbers", [](Graph& graph, const std::string& from,
                         const std::string& to) { graph.node("Round", {from}, {to}); }},
};

// Constants that the steps use, in a graph whose x is [n, 4].
inline void add_constants(Graph& graph) {
  graph.floats("w", {4, 4}).floats("g", {4}).floats("eight", {}).integers("zero", {0});
  graph.integers("one", {1}).integers("three", {3});
  graph.integers("pairs", {-1, 2, 2}).integers("twos", {-1, 2}).integers("fours", {-1, 4});
  graph.model().initializer<uint8_t>("yes", onnx::kBool, {4}, {1, 0, 1, 0});
}

inline uint32_t drawn(uint32_t& random, size_t below) {
  random = random * 1664525u + 1013904223u;
  return (random >> 16) % static_cast<uint32_t>(below);
}

}  // namespace serval::rows::test
