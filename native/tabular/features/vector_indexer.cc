// The kind vector_indexer: categories of some of a vector's values become indices. Hot path;
// any thread. Source: tabular.md 5.3
#include <algorithm>

#include "tabular/features/columns.h"
#include "tabular/features/kinds.h"
#include "tabular/java/number_text.h"

namespace serval::tabular {
namespace {

class VectorIndexer final : public VectorStage {
 public:
  explicit VectorIndexer(StageSpec& spec)
      : VectorStage(spec, true),
        size_(spec.integer(stages::vector_indexer::size)),
        keep_(spec.flag(stages::vector_indexer::keep)) {
    if (const char* fault = read(spec); fault != nullptr) spec.fail(fault);
  }

 private:
  struct Entry {
    double value, index;
  };
  struct Map {
    size_t feature;
    std::vector<Entry> entries;  // by value
  };

  // Returns what is wrong, or null.
  const char* read(StageSpec& spec) {
    const auto features = spec.integers(stages::vector_indexer::features),
               counts = spec.integers(stages::vector_indexer::counts);
    const auto values = spec.reals(stages::vector_indexer::values);
    const auto indices = spec.integers(stages::vector_indexer::indices);
    if (features.size() != counts.size()) return "expected a count of values for each feature";
    if (values.size() != indices.size()) return "expected an index for each value";
    size_t at = 0;
    for (size_t i = 0; i < features.size(); ++i) {
      const auto count = static_cast<size_t>(counts[i]);
      if (features[i] < 0 || features[i] >= size_)
        return "a feature index is out of range for the vector";
      if (i > 0 && features[i] <= features[i - 1]) return "expected features in ascending order";
      if (counts[i] < 0 || count > values.size() - at)
        return "the counts exceed the number of values";
      Map map{static_cast<size_t>(features[i]), {}};
      for (const size_t end = at + count; at < end; ++at) {
        map.entries.push_back({values[at], static_cast<double>(indices[at])});
      }
      std::sort(map.entries.begin(), map.entries.end(),
                [](const Entry& a, const Entry& b) { return a.value < b.value; });
      maps_.push_back(std::move(map));
    }
    return nullptr;
  }

  std::string answer(const VectorRow& in, Column& out, size_t&) const override {
    std::string fault = wrong_size(static_cast<size_t>(size_), in);
    if (!fault.empty()) return fault;
    const size_t begin = out.reals.size();
    out.reals.insert(out.reals.end(), in.values, in.values + in.count);
    double* values = out.reals.data() + begin;
    if (!out.sparse) {
      for (const Map& map : maps_) {
        if (!index(map, values[map.feature])) return unseen(map, values[map.feature]);
      }
      return {};
    }
    // A category of 0 has the index 0, so values that are not stored stay unchanged.
    out.indices.insert(out.indices.end(), in.indices, in.indices + in.count);
    auto map = maps_.begin();
    for (size_t i = 0; i < in.count && map != maps_.end(); ++i) {
      const auto feature = static_cast<size_t>(in.indices[i]);
      while (map != maps_.end() && map->feature < feature) ++map;
      if (map == maps_.end() || map->feature != feature) continue;
      if (!index(*map, values[i])) return unseen(*map, values[i]);
    }
    return {};
  }

  // Replaces the value by its index; false where it has none.
  bool index(const Map& map, double& value) const {
    const auto found =
        std::lower_bound(map.entries.begin(), map.entries.end(), value,
                         [](const Entry& entry, double wanted) { return entry.value < wanted; });
    if (found != map.entries.end() && found->value == value) value = found->index;
    else if (keep_) value = static_cast<double>(map.entries.size());
    else return false;
    return true;
  }
  std::string unseen(const Map& map, double value) const {
    return "column '" + names_[0] + "': " + java_double(value) + " is not a category of feature " +
           std::to_string(map.feature);
  }

  int32_t size_;
  bool keep_;
  std::vector<Map> maps_;  // by feature
};

constexpr StageKind kVectorIndexerKinds[] = {
    {stages::vector_indexer::kind, make_stage<VectorIndexer>}};

}  // namespace

std::span<const StageKind> indexer_kinds() { return kVectorIndexerKinds; }

}  // namespace serval::tabular
