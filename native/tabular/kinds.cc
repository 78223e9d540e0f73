// All kinds of stage and all functions, by name. Load thread.
#include <array>
#include <unordered_map>

#include "tabular/plan_reading.h"

namespace serval::tabular {
namespace {

std::string_view name_of(const StageKind& kind) { return kind.rule.name; }
std::string_view name_of(const Function& function) { return function.name; }

template <typename Entry, size_t N>
std::unordered_map<std::string_view, const Entry*> by_name(
    const std::array<std::span<const Entry>, N>& tables) {
  std::unordered_map<std::string_view, const Entry*> made;
  for (const std::span<const Entry> table : tables) {
    for (const Entry& entry : table) made.emplace(name_of(entry), &entry);
  }
  return made;
}

template <typename Entry>
const Entry* found(const std::unordered_map<std::string_view, const Entry*>& entries,
                   std::string_view name) {
  const auto entry = entries.find(name);
  return entry == entries.end() ? nullptr : entry->second;
}

}  // namespace

const StageKind* find_kind(std::string_view name) {
  static const auto kinds =
      by_name(std::array{general_kinds(), feature_kinds(), spark_model_kinds(), forest_kinds(),
                         pmml_kinds(), pmml_model_kinds(), sql_kinds()});
  return found(kinds, name);
}

const Function* find_function(std::string_view name) {
  static const auto functions = by_name(std::array{pmml_functions(), sql_functions()});
  return found(functions, name);
}

}  // namespace serval::tabular
