// Rules of ai.onnx.ml and of text. See rule.h.
#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

// [N, features], rows first: every output has a first axis of rows.
void need_table(Call& call) {
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "a parameter");
  const Value& data = call.in(0);
  if (call.rank(0) != 2) unproven("an input that is no table: one row has no axis of rows");
  if (data.varies() && data.axis != 0) couples("the rows are on the axis of the features");
}

void model(Call& call) {
  need_table(call);
  if (call.all_same()) return;
  const Dim rows = call.dims(0)[0];
  const bool classifies = call.op().ends_with("Classifier");
  call.set(0, classifies ? Value::rows({rows}, 0) : Value::rows({rows, call.fresh()}, 0));
  call.set(1, Value::rows({rows, call.fresh()}, 0));
}

void over_features(Call& call) {
  need_table(call);
  Dims out = call.dims(0);
  if (call.op() == "TfIdfVectorizer") out[1] = call.fresh();
  call.set(0, moved(call.in(0), std::move(out), 0));
}

void one_hot_encoder(Call& call) {
  const Value& data = call.in(0);
  Dims out = call.dims(0);
  out.push_back(call.fresh());
  call.set(0, moved(data, std::move(out), data.axis));
}

// (data, indices): along the last axis.
void features(Call& call) {
  call.need_same(1, "the indices");
  const Value& data = call.in(0);
  const size_t rank = call.rank(0);
  if (data.varies() && data.axis + 1 == rank) couples("it takes rows by their number");
  if (rank < 2) unproven("an input that is no table");
  Dims out = call.dims(0);
  out.back() = call.fresh();
  call.set(0, moved(data, std::move(out), data.axis));
}

void feature_vector(Call& call) {
  if (call.all_same()) return;
  const Dim rows = call.dims(0)[0];
  for (size_t i = 0; i < call.count(); ++i) {
    const bool fits = call.in(i).is_rows() && call.in(i).axis == 0 && call.rank(i) == 2 &&
                      call.dims(i)[0] == rows;
    if (!fits) unproven("an input that has no rows first");
  }
  call.set(0, Value::rows({rows, call.fresh()}, 0));
}

void string_split(Call& call) {
  const Value& data = call.in(0);
  const Dims& dims = call.dims(0);
  if (data.varies()) {
    call.set(0, Value::mixed(std::make_shared<Why>(
                    Why{true, "the row with the most parts decides how long all are"})));
    call.set(1, moved(data, dims, data.axis));
  }
}

void string_normalizer(Call& call) {
  const Value& data = call.in(0);
  if (data.varies() && call.node().attribute("stopwords") != nullptr) {
    couples("stop words are taken out of the list of all rows");
  }
  call.set(0, moved(data, call.dims(0), data.axis));
}

}  // namespace

std::vector<Rule> classical_rules() {
  const char* const family = "Classical models and text";
  return {
      {family,
       "A table of rows first.",
       "ai.onnx.ml",
       {"LinearClassifier", "LinearRegressor", "SVMClassifier", "SVMRegressor", "TreeEnsemble",
        "TreeEnsembleClassifier", "TreeEnsembleRegressor"},
       model},
      {family,
       "A table of rows first.",
       "ai.onnx.ml",
       {"Imputer", "Normalizer", "Scaler"},
       over_features},
      {family, "A table of rows first.", "", {"TfIdfVectorizer"}, over_features},
      {family, "Every element for itself.", "ai.onnx.ml", {"OneHotEncoder"}, one_hot_encoder},
      {family,
       "The indices are constants, the rows not on the last axis.",
       "ai.onnx.ml",
       {"ArrayFeatureExtractor"},
       features},
      {family, "Tables of rows first.", "ai.onnx.ml", {"FeatureVectorizer"}, feature_vector},
      {family,
       "The number of parts of each text. The parts are padded to the longest of the batch: those "
       "are coupled.",
       "",
       {"StringSplit"},
       string_split},
      {family, "Without stop words.", "", {"StringNormalizer"}, string_normalizer},
  };
}

}  // namespace serval::rows
