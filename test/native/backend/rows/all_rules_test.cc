// The table in docs/guides/batching.md equals the one that the rules print. SERVAL_WRITE_DOCS=1
// writes it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "backend/rows/rule.h"
#include "operators/operator.h"
#include "source_folder.h"

namespace serval::rows {
namespace {

const std::string kPage = source_folder() + "/docs/guides/batching.md";
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

// Rules for our own operators name existing operators.
TEST(RowsTable, OwnOperatorsAreThere) {
  std::set<std::string> known;
  for (const operators::OperatorType& type : operators::all_operators()) known.insert(type.name);
  for (const Rule& rule : all_rules()) {
    if (std::string_view(rule.domain) != "serval") continue;
    for (const char* op : rule.ops) EXPECT_TRUE(known.contains(op)) << op;
  }
}

// Our own operators that have no rule on purpose: rows of their outputs are not followed.
const std::set<std::string> kUnproved = {
    // The number or position of their results depends on the values of all rows.
    "Bincount", "CTCBeamSearchDecoder", "CTCGreedyDecoder", "DynamicStitch", "EditDistance",
    "ParseExample", "ParseFeatureLists", "RaggedBincount", "RaggedGather", "RaggedRange",
    "SegmentReduce", "SparseBincount", "SparseConcat", "SparseCross", "SparseFillEmptyRows",
    "SparseReorder", "SparseReshape", "SparseSegmentReduce", "SparseSlice",
    "SparseTensorDenseMatMul", "SparseToSparseSetOperation", "StringNGrams", "UnicodeDecode",
    "UnicodeDecodeWithOffsets", "UnicodeEncode", "UnsortedSegmentJoin", "UnsortedSegmentReduce",
    // Their input is one string or file, without an axis of rows.
    "DecodeAndCropJpeg", "DecodeBmp", "DecodeGif", "DecodeImage", "DecodeJpeg", "DecodePng",
    "DecodeWav", "EncodeJpeg", "EncodeJpegVariableQuality", "EncodeWav", "ExtractJpegShape",
    // Its text contains all elements.
    "StringFormat",
    // The output's rank depends on types, which are not followed.
    "Bitcast",
    // The part's position is adjusted until it fits.
    "DynamicUpdateSlice"};

// Every new operator needs a rule or an entry in the list of unproved ones.
TEST(RowsTable, EveryOwnOperatorIsRuledOrLeftUnproved) {
  std::set<std::string> known;
  for (const operators::OperatorType& type : operators::all_operators()) {
    known.insert(type.name);
    const bool ruled = find_rule("serval", type.name) != nullptr;
    EXPECT_NE(ruled, kUnproved.contains(type.name)) << type.name << (ruled ? " has" : " lacks");
  }
  for (const std::string& name : kUnproved) EXPECT_TRUE(known.contains(name)) << name;
}

}  // namespace
}  // namespace serval::rows
