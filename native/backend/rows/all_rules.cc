// Combines all rules in one list, for lookup and for the documentation.
#include <algorithm>
#include <map>
#include <utility>

#include "backend/rows/rule.h"

namespace serval::rows {

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    constexpr std::vector<Rule> (*kFamilies[])() = {
        elementwise_rules, layout_rules,    shape_rules,     selection_rules,
        gather_rules,      product_rules,   window_rules,    normal_rules,
        reduction_rules,   recurrent_rules, attention_rules, control_flow_rules,
        classical_rules,   ragged_rules,    serval_rules,    coupling_rules,
    };
    for (const auto family : kFamilies) {
      for (Rule& rule : family()) all.push_back(std::move(rule));
    }
    return all;
  }();
  return rules;
}

const Rule* find_rule(std::string_view domain, std::string_view op) {
  using Key = std::pair<std::string_view, std::string_view>;
  static const std::map<Key, const Rule*> by_name = [] {
    std::map<Key, const Rule*> map;
    for (const Rule& rule : all_rules()) {
      for (const char* name : rule.ops) map.emplace(Key{rule.domain, name}, &rule);
    }
    return map;
  }();
  const auto found = by_name.find({domain == "ai.onnx" ? "" : domain, op});
  return found == by_name.end() ? nullptr : found->second;
}

std::string rules_as_markdown() {
  // One row per family and text, in the order of the rules.
  std::vector<std::pair<std::pair<std::string, std::string>, std::vector<std::string>>> rows;
  for (const Rule& rule : all_rules()) {
    const std::pair<std::string, std::string> key{rule.family, rule.says};
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&key](const auto& one) { return one.first == key; });
    if (row == rows.end()) row = rows.insert(rows.end(), {key, {}});
    const std::string domain = rule.domain;
    for (const char* op : rule.ops) {
      row->second.push_back(domain.empty() ? op : domain + "." + op);
    }
  }
  std::string text = "| operators | rows are independent if |\n| --- | --- |\n";
  for (auto& [key, ops] : rows) {
    std::sort(ops.begin(), ops.end());
    std::string names;
    for (const std::string& op : ops) names += (names.empty() ? "" : ", ") + op;
    const std::string says = key.first == "Never" ? "nowhere: " + key.second : key.second;
    text += "| **" + key.first + "**: " + names + " | " + says + " |\n";
  }
  return text;
}

}  // namespace serval::rows
