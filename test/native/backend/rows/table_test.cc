// The table of docs/batching.md is the one that the rules print. SERVAL_WRITE_DOCS=1 writes it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "backend/rows/rule.h"
#include "operators/operator.h"

namespace serval::rows {
namespace {

const char* const kPage = SERVAL_SOURCE_DIR "/docs/batching.md";
const std::string kBegin = "<!-- operator rules -->\n", kEnd = "<!-- end of operator rules -->\n";

TEST(RowsTable, TheDocumentationHasTheRules) {
  std::ifstream in(kPage, std::ios::binary);
  const std::string page((std::istreambuf_iterator<char>(in)), {});
  const size_t begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const size_t first = begin + kBegin.size();
  const std::string wanted = rules_as_markdown();
  if (std::getenv("SERVAL_WRITE_DOCS") != nullptr) {
    std::ofstream(kPage, std::ios::binary) << page.substr(0, first) + wanted + page.substr(end);
    return;
  }
  EXPECT_EQ(page.substr(first, end - first), wanted)
      << "run this test with SERVAL_WRITE_DOCS=1 to write the table";
}

TEST(RowsTable, EveryOperatorHasOneRule) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const Rule& rule : all_rules()) {
    for (const char* op : rule.ops) {
      EXPECT_TRUE(seen.emplace(rule.domain, op).second) << rule.domain << " " << op;
      EXPECT_NE(find_rule(rule.domain, op), nullptr);
    }
  }
}

// Rules of our own operators name operators that there are.
TEST(RowsTable, OwnOperatorsAreThere) {
  std::set<std::string> known;
  for (const operators::OperatorType& type : operators::all_operators()) known.insert(type.name);
  for (const Rule& rule : all_rules()) {
    if (std::string_view(rule.domain) != "serval") continue;
    for (const char* op : rule.ops) EXPECT_TRUE(known.contains(op)) << op;
  }
}

}  // namespace
}  // namespace serval::rows
