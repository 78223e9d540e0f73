// Couplings that are planted into the bodies of If, Loop and Scan, and couplings that bodies
// create: none is proved, and the same graphs without them are.
#include "backend/rows/planted.h"

namespace serval::rows::test {
namespace {

// A graph for a body: it sees the names of the outer graph.
Graph body_graph() {
  Graph graph;
  graph.model() = Model();
  graph.model().graph.bytes(2, "body");
  return graph;
}

Graph loop_body() {
  Graph graph = body_graph();
  graph.model().input("i", onnx::kInt64, std::vector<Dim>{});
  graph.model().input("more", onnx::kBool, std::vector<Dim>{});
  graph.node("Identity", {"more"}, {"more_out"});
  graph.model().output("more_out", onnx::kBool, std::nullopt);
  return graph;
}

void carry(Graph& body, const char* in, int type = onnx::kFloat) {
  body.model().input(in, type, std::nullopt);
}
void answer(Graph& body, const char* out, int type = onnx::kFloat) {
  body.model().output(out, type, std::nullopt);
}

// A number of steps that is the same for all rows, but is not a constant.
void add_steps(Graph& graph, const std::string& to) {
  graph.node("Cast", {"eight"}, {to}, {attribute("to", int64_t{onnx::kInt64})});
}

// Ways to put a step into a body. `from` and `to` are [n, 4] in the outer graph.
struct Wrap {
  const char* name;
  void (*add)(Graph& graph, const Step& step, const std::string& from, const std::string& to);
};

void in_loop(Graph& graph, const Step& step, const std::string& from, const std::string& to) {
  Graph body = loop_body();
  carry(body, "v");
  step.add(body, "v", "v_out");
  answer(body, "v_out");
  add_steps(graph, named(to, "n"));
  graph.node("Loop", {named(to, "n"), "", from}, {to},
             {onnx::graph_attribute("body", body.model().graph)});
}

// The step's tensor belongs to the outer graph, not to the loop.
void captured(Graph& graph, const Step& step, const std::string& from, const std::string& to) {
  Graph body = loop_body();
  carry(body, "v");
  step.add(body, from, "s");
  body.node("Add", {"v", "s"}, {"v_out"});
  answer(body, "v_out");
  add_steps(graph, named(to, "n"));
  graph.node("Loop", {named(to, "n"), "", from}, {to},
             {onnx::graph_attribute("body", body.model().graph)});
}

// The results of all steps are stacked; the last one is used.
void in_stack(Graph& graph, const Step& step, const std::string& from, const std::string& to) {
  Graph body = loop_body();
  carry(body, "v");
  step.add(body, "v", "v_out");
  body.node("Identity", {"v_out"}, {"each"});
  answer(body, "v_out");
  answer(body, "each");
  add_steps(graph, named(to, "n"));
  graph.number(named(to, "last"), -1);
  graph.node("Loop", {named(to, "n"), "", from}, {named(to, "v"), named(to, "all")},
             {onnx::graph_attribute("body", body.model().graph)});
  graph.node("Gather", {named(to, "all"), named(to, "last")}, {to}, {axis(0)});
}

// A list that is empty before its first element, as TensorFlow's importer writes it.
void in_list(Graph& graph, const Step& step, const std::string& from, const std::string& to) {
  Graph full = body_graph();
  full.node("Shape", {"h"}, {"s"}).node("Concat", {"one", "s"}, {"to"}, {axis(0)});
  full.node("Expand", {"nothing", "to"}, {"made"});
  answer(full, "made");
  Graph kept = body_graph();
  kept.node("Identity", {"list"}, {"same"});
  answer(kept, "same");
  Graph body = loop_body();
  carry(body, "list");
  carry(body, "v");
  step.add(body, "v", "h");
  body.node("Size", {"list"}, {"size"}).node("Equal", {"size", "none"}, {"empty"});
  body.node("If", {"empty"}, {"now"},
            {onnx::graph_attribute("then_branch", full.model().graph),
             onnx::graph_attribute("else_branch", kept.model().graph)});
  body.node("Unsqueeze", {"h", "zero"}, {"element"});
  body.node("ScatterND", {"now", "first", "element"}, {"list_out"});
  answer(body, "list_out");
  answer(body, "h");
  graph.model().initializer<float>(named(to, "begin"), onnx::kFloat, {0}, {});
  add_steps(graph, named(to, "n"));
  graph.number(named(to, "last"), -1);
  graph.node("Loop", {named(to, "n"), "", named(to, "begin"), from},
             {named(to, "l"), named(to, "v")}, {onnx::graph_attribute("body", body.model().graph)});
  graph.node("Gather", {named(to, "l"), named(to, "last")}, {to}, {axis(0)});
}

void in_scan(Graph& graph, const Step& step, const std::string& from, const std::string& to) {
  Graph body = body_graph();
  carry(body, "v");
  carry(body, "e");
  body.node("Add", {"v", "e"}, {"a"});
  step.add(body, "a", "v_out");
  answer(body, "v_out");
  graph.node("Unsqueeze", {from, "one"}, {named(to, "u")});
  graph.node(
      "Scan", {from, named(to, "u")}, {to},
      {onnx::graph_attribute("body", body.model().graph), attribute("num_scan_inputs", int64_t{1}),
       attribute("scan_input_axes", std::vector<int64_t>{1})});
}

void in_branch(Graph& graph, const Step& step, const std::string& from, const std::string& to) {
  Graph yes = body_graph(), no = body_graph();
  step.add(yes, from, "answer");
  answer(yes, "answer");
  no.node("Relu", {from}, {"answer"});
  answer(no, "answer");
  graph.node("Cast", {"eight"}, {named(to, "c")}, {attribute("to", int64_t{onnx::kBool})});
  graph.node("If", {named(to, "c")}, {to},
             {onnx::graph_attribute("then_branch", yes.model().graph),
              onnx::graph_attribute("else_branch", no.model().graph)});
}

// A branch inside a loop.
void in_both(Graph& graph, const Step& step, const std::string& from, const std::string& to) {
  Graph yes = body_graph(), no = body_graph();
  step.add(yes, "v", "answer");
  answer(yes, "answer");
  no.node("Relu", {"v"}, {"answer"});
  answer(no, "answer");
  Graph body = loop_body();
  carry(body, "v");
  body.node("If", {"more"}, {"v_out"},
            {onnx::graph_attribute("then_branch", yes.model().graph),
             onnx::graph_attribute("else_branch", no.model().graph)});
  answer(body, "v_out");
  add_steps(graph, named(to, "n"));
  graph.node("Loop", {named(to, "n"), "", from}, {to},
             {onnx::graph_attribute("body", body.model().graph)});
}

const Wrap kWraps[] = {{"a loop", in_loop},
                       {"a loop that captures", captured},
                       {"stacked steps", in_stack},
                       {"a list", in_list},
                       {"a scan", in_scan},
                       {"a branch", in_branch},
                       {"a branch in a loop", in_both}};

// Couplings that a body creates from steps that couple nothing.
void loop_with(Graph& graph, Graph& body, const std::string& steps, const std::string& more,
               const std::string& from, const std::string& to) {
  graph.node("Loop", {steps, more, from}, {to},
             {onnx::graph_attribute("body", body.model().graph)});
}

const Step kByBodies[] = {
    {"as many steps as the longest row has entries",
     [](Graph& graph, const std::string& from, const std::string& to) {
       Graph body = loop_body();
       carry(body, "v");
       body.node("Sigmoid", {"v"}, {"v_out"});
       answer(body, "v_out");
       graph.node("Sign", {from}, {named(to, "s")})
           .node("ReduceSum", {named(to, "s"), "one"}, {named(to, "l")});
       graph.node("ReduceMax", {named(to, "l")}, {named(to, "m")},
                  {attribute("keepdims", int64_t{0})});
       graph.node("Cast", {named(to, "m")}, {named(to, "n")},
                  {attribute("to", int64_t{onnx::kInt64})});
       loop_with(graph, body, named(to, "n"), "", from, to);
     }},
    {"as many steps as there are rows",
     [](Graph& graph, const std::string& from, const std::string& to) {
       Graph body = loop_body();
       carry(body, "v");
       body.node("Sigmoid", {"v"}, {"v_out"});
       answer(body, "v_out");
       graph.node("Shape", {from}, {named(to, "s")})
           .node("Gather", {named(to, "s"), "zero"}, {named(to, "n")});
       loop_with(graph, body, named(to, "n"), "", from, to);
     }},
    {"steps until every row is done",
     [](Graph& graph, const std::string& from, const std::string& to) {
       Graph body = body_graph();
       body.model().input("i", onnx::kInt64, std::vector<Dim>{});
       body.model().input("more", onnx::kBool, std::vector<Dim>{});
       carry(body, "v");
       body.node("Sigmoid", {"v"}, {"v_out"});
       body.node("ReduceMin", {"v_out"}, {"least"}, {attribute("keepdims", int64_t{0})});
       body.node("Less", {"least", "eight"}, {"more_out"});
       answer(body, "more_out", onnx::kBool);
       answer(body, "v_out");
       loop_with(graph, body, "", "", from, to);
     }},
    {"a branch that a value of any row takes",
     [](Graph& graph, const std::string& from, const std::string& to) {
       Graph yes = body_graph(), no = body_graph();
       yes.node("Relu", {from}, {"a"});
       answer(yes, "a");
       no.node("Tanh", {from}, {"a"});
       answer(no, "a");
       graph.node("ReduceMax", {from}, {named(to, "m")}, {attribute("keepdims", int64_t{0})});
       graph.node("Greater", {named(to, "m"), "eight"}, {named(to, "c")});
       graph.node("If", {named(to, "c")}, {to},
                  {onnx::graph_attribute("then_branch", yes.model().graph),
                   onnx::graph_attribute("else_branch", no.model().graph)});
     }},
    {"a scan that goes over the rows",
     [](Graph& graph, const std::string& from, const std::string& to) {
       Graph body = body_graph();
       carry(body, "v");
       carry(body, "e");
       body.node("Add", {"v", "e"}, {"v_out"}).node("Identity", {"v_out"}, {"each"});
       answer(body, "v_out");
       answer(body, "each");
       graph.node("Scan", {"g", from}, {named(to, "v"), to},
                  {onnx::graph_attribute("body", body.model().graph),
                   attribute("num_scan_inputs", int64_t{1})});
     }},
    {"a list of as many elements as rows, element by element",
     [](Graph& graph, const std::string& from, const std::string& to) {
       Graph body = loop_body();
       carry(body, "v");
       body.node("Unsqueeze", {"i", "zero"}, {"at"}).node("Gather", {from, "at"}, {"row"});
       body.node("Unsqueeze", {"at", "zero"}, {"where"});
       body.node("ScatterND", {"v", "where", "row"}, {"v_out"});
       answer(body, "v_out");
       add_steps(graph, named(to, "n"));
       loop_with(graph, body, named(to, "n"), "", from, to);
     }},
    {"a mask that is that of any row",
     [](Graph& graph, const std::string& from, const std::string& to) {
       Graph body = loop_body();
       carry(body, "v");
       body.node("ReduceMax", {from, "zero"}, {"any"}).node("Less", {"any", "eight"}, {"mask"});
       body.node("Tanh", {"v"}, {"next"}).node("Where", {"mask", "next", "v"}, {"v_out"});
       answer(body, "v_out");
       add_steps(graph, named(to, "n"));
       loop_with(graph, body, named(to, "n"), "", from, to);
     }},
    {"a mask of the rows that is turned on its side",
     [](Graph& graph, const std::string& from, const std::string& to) {
       Graph body = loop_body();
       carry(body, "v");
       body.node("Less", {from, "eight"}, {"m"}).node("Transpose", {"m"}, {"t"});
       body.node("Reshape", {"t", "fours"}, {"mask"});
       body.node("Tanh", {"v"}, {"next"}).node("Where", {"mask", "next", "v"}, {"v_out"});
       answer(body, "v_out");
       add_steps(graph, named(to, "n"));
       loop_with(graph, body, named(to, "n"), "", from, to);
     }},
    {"rows that are turned around",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.integers(named(to, "back"), {-1}).integers(named(to, "end"), {-1'000'000});
       graph.node("Slice", {from, named(to, "back"), named(to, "end"), "zero", named(to, "back")},
                  {named(to, "r")});
       graph.node("Add", {from, named(to, "r")}, {to});
     }},
    {"sequences whose steps are the rows",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.integers(named(to, "l"), {2, 2, 2, 2});
       graph.node("ReverseSequence", {from, named(to, "l")}, {to},
                  {attribute("time_axis", int64_t{0}), attribute("batch_axis", int64_t{1})});
     }},
    {"steps that are put together as rows",
     [](Graph& graph, const std::string& from, const std::string& to) {
       Graph body = loop_body();
       carry(body, "v");
       body.node("Tanh", {"v"}, {"v_out"}).node("Identity", {"v_out"}, {"each"});
       answer(body, "v_out");
       answer(body, "each");
       add_steps(graph, named(to, "n"));
       graph.node("Loop", {named(to, "n"), "", from}, {named(to, "v"), named(to, "all")},
                  {onnx::graph_attribute("body", body.model().graph)});
       graph.node("Reshape", {named(to, "all"), "fours"}, {to});
     }},
    {"a list from which rows are taken",
     [](Graph& graph, const std::string& from, const std::string& to) {
       Graph body = loop_body();
       carry(body, "list");
       carry(body, "v");
       body.node("Tanh", {"v"}, {"h"}).node("Unsqueeze", {"h", "zero"}, {"list_out"});
       answer(body, "list_out");
       answer(body, "h");
       graph.model().initializer<float>(named(to, "begin"), onnx::kFloat, {0}, {});
       graph.number(named(to, "first"), 0);
       add_steps(graph, named(to, "n"));
       graph.node("Loop", {named(to, "n"), "", named(to, "begin"), from},
                  {named(to, "l"), named(to, "v")},
                  {onnx::graph_attribute("body", body.model().graph)});
       graph.node("Gather", {named(to, "l"), named(to, "first")}, {named(to, "r")}, {axis(1)});
       graph.node("Add", {from, named(to, "r")}, {to});
     }},
    {"numbers of rows that a truth value cuts",
     [](Graph& graph, const std::string& from, const std::string& to) {
       graph.number(named(to, "a"), 0).number(named(to, "d"), 1);
       graph.node("Shape", {from}, {named(to, "s")})
           .node("Gather", {named(to, "s"), named(to, "a")}, {named(to, "n")});
       graph.node("Range", {named(to, "a"), named(to, "n"), named(to, "d")}, {named(to, "r")});
       graph.node("Cast", {named(to, "r")}, {named(to, "b")},
                  {attribute("to", int64_t{onnx::kBool})});
       graph.node("Cast", {named(to, "b")}, {named(to, "i")},
                  {attribute("to", int64_t{onnx::kInt64})});
       graph.node("Gather", {from, named(to, "i")}, {to});
     }},
};

constexpr size_t kLength = 3;

struct Planted {
  const Step* coupling = nullptr;
  const Wrap* wrap = nullptr;
  size_t place = kLength;
};

Graph planted(uint32_t& random, const Planted& what, const Step& end) {
  Graph graph({int64_t{4}}, 20);
  add_constants(graph);
  graph.number("none", 0).floats("nothing", {});
  graph.model().initializer<int64_t>("first", onnx::kInt64, {1, 1}, {0});
  std::string from = "x";
  for (size_t i = 0; i < kLength; ++i) {
    const bool here = i == what.place;
    const bool coupled = here && what.coupling != nullptr;
    const Step& step = coupled ? *what.coupling : kSteps[drawn(random, std::size(kSteps))];
    const std::string to = "t" + std::to_string(i);
    const Wrap& other = kWraps[drawn(random, std::size(kWraps))];
    const Wrap* wrap = here ? what.wrap : drawn(random, 2) == 0 ? &other : nullptr;
    if (wrap != nullptr) wrap->add(graph, step, from, to);
    else step.add(graph, from, to);
    from = to;
  }
  end.add(graph, from, "y");
  return graph;
}

TEST(RowsBodies, NoGraphWithACouplingInABodyIsProved) {
  uint32_t random = 11;
  for (const Step& coupling : kCouplings) {
    for (const Wrap& wrap : kWraps) {
      for (size_t place = 0; place < kLength; ++place) {
        for (const Step& end : kEnds) {
          for (int round = 0; round < 3; ++round) {
            const RowsProof proof = planted(random, {&coupling, &wrap, place}, end).proof();
            ASSERT_NE(proof.verdict, RowsVerdict::Proved)
                << coupling.name << " in " << wrap.name << " at " << place;
          }
        }
      }
    }
  }
}

TEST(RowsBodies, NoBodyThatCouplesIsProved) {
  uint32_t random = 12;
  for (const Step& coupling : kByBodies) {
    for (size_t place = 0; place < kLength; ++place) {
      for (const Step& end : kEnds) {
        for (int round = 0; round < 10; ++round) {
          const RowsProof proof = planted(random, {&coupling, nullptr, place}, end).proof();
          ASSERT_NE(proof.verdict, RowsVerdict::Proved) << coupling.name << " at " << place;
          ASSERT_NE(proof.text, "") << coupling.name;
        }
      }
    }
  }
}

TEST(RowsBodies, TheSameGraphsWithoutOneAreProved) {
  uint32_t random = 13;
  for (const Wrap& wrap : kWraps) {
    for (const Step& step : kSteps) {
      for (const Step& end : kEnds) {
        const RowsProof proof = planted(random, {&step, &wrap, 0}, end).proof();
        ASSERT_EQ(proof.verdict, RowsVerdict::Proved)
            << step.name << " in " << wrap.name << ": " << proof.text;
      }
    }
  }
}

}  // namespace
}  // namespace serval::rows::test
