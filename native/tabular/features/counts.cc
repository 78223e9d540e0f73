// Kinds that make vectors from words (hashing_tf, count_vectorizer, word2vec) or from whole columns
// (feature_hasher). Hot path; any thread. Source: tabular.md 5.3
#include <algorithm>
#include <bit>
#include <cmath>

#include "tabular/features/columns.h"
#include "tabular/features/kinds.h"
#include "tabular/features/murmur.h"
#include "tabular/features/text_index.h"

namespace serval::tabular {
namespace {

struct Slot {
  int32_t index;
  double value;
};

// Adds the slots of one row to a sparse column in ascending order; slots of equal index are summed
// in the order of arrival.
void append_slots(std::vector<Slot>& slots, Column& out, int32_t size) {
  std::stable_sort(slots.begin(), slots.end(),
                   [](const Slot& a, const Slot& b) { return a.index < b.index; });
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i > 0 && slots[i].index == slots[i - 1].index) {
      out.reals.back() += slots[i].value;
    } else {
      out.indices.push_back(slots[i].index);
      out.reals.push_back(slots[i].value);
    }
  }
  out.end_sparse_row(static_cast<uint32_t>(size));
}

// A list of words -> Vector.
class WordVectorStage : public ColumnStage {
 public:
  Status run(Run& run, Rows rows) const final {
    const Column& in = run.in(inputs_[0]);
    const bool list = in.type == Type::List && reads(in.element);
    if (!list && !all_missing(in, rows)) return mismatch(0, in, "a list of words");
    Column& out = run.out(outputs_[0], Type::Vector, rows);
    out.sparse = sparse_;
    std::vector<Slot> slots;
    return each_row(run, rows, out, [&](uint32_t row) {
      if (!in.valid(row)) return missing(0);
      slots.clear();
      answer(run.frame.strings, in, row, out, slots);
      return std::string();
    });
  }

 protected:
  WordVectorStage(StageSpec& spec, bool sparse) : ColumnStage(spec), sparse_(sparse) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(1, 1);
  }
  virtual bool reads(Type element) const { return is_text(element); }
  // Fills and ends the row.
  virtual void answer(const Strings& strings, const Column& in, uint32_t row, Column& out,
                      std::vector<Slot>& slots) const = 0;

 private:
  bool sparse_;
};

class HashingTf final : public WordVectorStage {
 public:
  explicit HashingTf(StageSpec& spec)
      : WordVectorStage(spec, true),
        size_(spec.integer(stages::hashing_tf::size)),
        binary_(spec.flag(stages::hashing_tf::binary)),
        whole_tail_(spec.integer(stages::hashing_tf::hashVersion) != 1) {
    if (size_ < 1) spec.fail("expected 1 feature or more");
  }

 private:
  bool reads(Type element) const override {
    return is_text(element) || is_real(element) || is_integer(element) || element == Type::Bool;
  }

  int32_t hash(const Strings& strings, const Column& in, size_t at) const {
    if (is_text(in.element)) return murmur3(strings.text(in.texts[at]), whole_tail_);
    if (in.element == Type::Double) return murmur3_long(std::bit_cast<int64_t>(in.reals[at]));
    if (in.element == Type::Float) {
      return murmur3_int(std::bit_cast<int32_t>(static_cast<float>(in.reals[at])));
    }
    if (in.element == Type::Int64) return murmur3_long(in.integers[at]);
    return murmur3_int(static_cast<int32_t>(in.integers[at]));
  }

  void answer(const Strings& strings, const Column& in, uint32_t row, Column& out,
              std::vector<Slot>& slots) const override {
    for (size_t at = in.offsets[row]; at < in.offsets[row + 1]; ++at) {
      slots.push_back({hash_slot(hash(strings, in, at), size_), 1});
    }
    const size_t begin = out.reals.size();
    append_slots(slots, out, size_);
    if (binary_) std::fill(out.reals.begin() + static_cast<ptrdiff_t>(begin), out.reals.end(), 1);
  }

  int32_t size_;
  bool binary_, whole_tail_;
};

class CountVectorizer final : public WordVectorStage {
 public:
  explicit CountVectorizer(StageSpec& spec)
      : WordVectorStage(spec, true),
        index_(spec.text_ids(stages::count_vectorizer::vocabulary)),
        size_(static_cast<int32_t>(spec.texts(stages::count_vectorizer::vocabulary).size())),
        binary_(spec.flag(stages::count_vectorizer::binary)),
        least_(spec.real(stages::count_vectorizer::minTf)) {
    if (index_.has_duplicates()) spec.fail("a word occurs twice in the vocabulary");
    if (!(least_ >= 0)) spec.fail("expected a minimum frequency of 0 or more");
  }

 private:
  void answer(const Strings&, const Column& in, uint32_t row, Column& out,
              std::vector<Slot>& slots) const override {
    const std::span<const TextId> words = in.row_texts(row);
    for (const TextId word : words) {
      if (const int32_t index = index_[word]; index >= 0) slots.push_back({index, 1});
    }
    const size_t begin = out.reals.size();
    append_slots(slots, out, size_);
    const double least = least_ >= 1 ? least_ : static_cast<double>(words.size()) * least_;
    size_t kept = begin;
    for (size_t at = begin; at < out.reals.size(); ++at) {
      if (!(out.reals[at] >= least)) continue;
      out.indices[kept] = out.indices[at];
      out.reals[kept++] = binary_ ? 1 : out.reals[at];
    }
    out.indices.resize(kept);
    out.reals.resize(kept);
    out.offsets.back() = kept;
  }

  TextIndex index_;
  int32_t size_;
  bool binary_;
  double least_;
};

class Word2Vec final : public WordVectorStage {
 public:
  explicit Word2Vec(StageSpec& spec)
      : WordVectorStage(spec, false),
        index_(spec.text_ids(stages::word2vec::words)),
        vectors_(spec.reals(stages::word2vec::vectors)),
        size_(spec.integer(stages::word2vec::size)) {
    unit_ = spec.choice(stages::word2vec::kernel) == stages::Word2vecKernel::Sqrt;
    const size_t words = spec.texts(stages::word2vec::words).size();
    if (size_ < 1 || vectors_.size() != words * static_cast<size_t>(std::max(size_, 0))) {
      spec.fail("expected a vector of " + std::to_string(size_) + " values for each word");
    }
  }

 private:
  void answer(const Strings&, const Column& in, uint32_t row, Column& out,
              std::vector<Slot>&) const override {
    const auto size = static_cast<size_t>(size_);
    const std::span<const TextId> words = in.row_texts(row);
    double* sum = append_dense(out, size);
    for (const TextId word : words) {
      const int32_t index = index_[word];
      if (index < 0) continue;
      const double* vector = vectors_.data() + static_cast<size_t>(index) * size;
      for (size_t i = 0; i < size; ++i) sum[i] += vector[i];
    }
    if (!words.empty() && unit_) {
      double squares = 0;
      for (size_t i = 0; i < size; ++i) squares += sum[i] * sum[i];
      const double length = std::sqrt(squares);
      for (size_t i = 0; i < size; ++i) sum[i] /= length;
    } else if (!words.empty()) {
      const double scale = 1.0 / static_cast<double>(words.size());
      for (size_t i = 0; i < size; ++i) sum[i] *= scale;
    }
    out.end_row();
  }

  TextIndex index_;
  std::span<const double> vectors_;
  int32_t size_;
  bool unit_ = false;
};

class FeatureHasher final : public ColumnStage {
 public:
  explicit FeatureHasher(StageSpec& spec)
      : ColumnStage(spec),
        size_(spec.integer(stages::feature_hasher::size)),
        whole_tail_(spec.integer(stages::feature_hasher::hashVersion) != 1),
        categorical_(spec.integers(stages::feature_hasher::categorical)) {
    spec.expect_outputs(1, 1);
    for (const std::string_view name : spec.texts(stages::feature_hasher::names))
      columns_.emplace_back(name);
    if (size_ < 1) spec.fail("expected 1 feature or more");
    if (columns_.size() != inputs_.size() || categorical_.size() != inputs_.size()) {
      spec.fail("expected a name for each input, and whether it is categorical");
    }
  }

  Status run(Run& run, Rows rows) const override {
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const Column& in = run.in(inputs_[k]);
      if (!Numbers::reads(in) && in.type != Type::String && !all_missing(in, rows)) {
        return mismatch(k, in, "a number, Boolean or string");
      }
    }
    Column& out = run.out(outputs_[0], Type::Vector, rows);
    out.sparse = true;
    std::vector<Slot> slots;
    std::string text;
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      out.start_row(row);
      slots.clear();
      for (size_t k = 0; k < inputs_.size(); ++k) {
        const Column& in = run.in(inputs_[k]);
        if (!in.valid(row)) continue;
        text = columns_[k];
        double value = 1;
        if (in.type == Type::String || in.type == Type::Bool || categorical_[k] != 0) {
          text.push_back('=');
          if (in.type == Type::String) text += run.frame.strings.text(in.texts[row]);
          else append_java_scalar(in, row, text);
        } else {
          value = Numbers(in)[row];
        }
        slots.push_back({hash_slot(murmur3(text, whole_tail_), size_), value});
      }
      append_slots(slots, out, size_);
    }
    return {};
  }

 private:
  int32_t size_;
  bool whole_tail_;
  std::span<const int32_t> categorical_;
  std::vector<std::string> columns_;
};

constexpr StageKind kCountsKinds[] = {
    {stages::hashing_tf::kind, make_stage<HashingTf>},
    {stages::count_vectorizer::kind, make_stage<CountVectorizer>},
    {stages::word2vec::kind, make_stage<Word2Vec>},
    {stages::feature_hasher::kind, make_stage<FeatureHasher>},
};

}  // namespace

std::span<const StageKind> count_kinds() { return kCountsKinds; }

}  // namespace serval::tabular
