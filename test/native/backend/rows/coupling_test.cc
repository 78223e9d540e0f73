// Graphs with a coupling planted at every position: none is proved, whatever precedes and follows
// it, and the same graph without it is.
#include "backend/rows/planted.h"

namespace serval::rows::test {
namespace {

constexpr size_t kRowLength = 4, kNowhere = kRowLength;

Graph planted(uint32_t& random, const Step* coupling, size_t place, const Step& end) {
  Graph graph;
  add_constants(graph);
  std::string from = "x";
  for (size_t i = 0; i < kRowLength; ++i) {
    const Step& step = kSteps[drawn(random, std::size(kSteps))];
    const std::string to = "t" + std::to_string(i);
    if (i == place && coupling != nullptr) coupling->add(graph, from, to);
    else step.add(graph, from, to);
    from = to;
  }
  end.add(graph, from, "y");
  return graph;
}

TEST(RowsCoupling, NoGraphWithACouplingIsProved) {
  uint32_t random = 7;
  size_t graphs = 0;
  for (const Step& coupling : kCouplings) {
    for (size_t place = 0; place < kRowLength; ++place) {
      for (const Step& end : kEnds) {
        for (int round = 0; round < 10; ++round, ++graphs) {
          const RowsProof proof = planted(random, &coupling, place, end).proof();
          ASSERT_NE(proof.verdict, RowsVerdict::Proved)
              << coupling.name << " at " << place << ", then " << end.name;
          ASSERT_NE(proof.text, "") << coupling.name;
        }
      }
    }
  }
  EXPECT_EQ(graphs, std::size(kCouplings) * kRowLength * std::size(kEnds) * 10);
}

TEST(RowsCoupling, TheSameGraphsWithoutOneAreProved) {
  uint32_t random = 7;
  for (const Step& end : kEnds) {
    for (int round = 0; round < 200; ++round) {
      const RowsProof proof = planted(random, nullptr, kNowhere, end).proof();
      ASSERT_EQ(proof.verdict, RowsVerdict::Proved) << end.name << ": " << proof.text;
    }
  }
}

}  // namespace
}  // namespace serval::rows::test
