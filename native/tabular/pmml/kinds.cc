// The kinds of stage in this folder. Load thread.
#include "tabular/pmml/kinds.h"

namespace serval::tabular {
namespace {

constexpr StageKind kKinds[] = {
    {"pmml.field", pmml::make_field},
    {"pmml.norm_continuous", pmml::make_norm_continuous},
    {"pmml.norm_discrete", pmml::make_norm_discrete},
    {"pmml.discretize", pmml::make_discretize},
    {"pmml.map_values", pmml::make_map_values},
    {"pmml.text_index", pmml::make_text_index},
    {"pmml.aggregate", pmml::make_aggregate},
    {"pmml.vector", pmml::make_vector},
    {"pmml.classify", pmml::make_classify},
    {"pmml.pick", pmml::make_pick},
    {"pmml.ranked", pmml::make_ranked},
    {"pmml.element", pmml::make_element},
    {"pmml.tree", pmml::make_tree},
    {"pmml.segment", pmml::make_segment},
    {"pmml.choose", pmml::make_choose},
    {"pmml.combine", pmml::make_combine},
    {"pmml.vote", pmml::make_vote},
    {"pmml.blend", pmml::make_blend},
    {"pmml.leaf_votes", pmml::make_leaf_votes},
    {"pmml.collect", pmml::make_collect},
    {"pmml.rules", pmml::make_rules},
    {"pmml.scorecard", pmml::make_scorecard},
};

}  // namespace

std::span<const StageKind> pmml_kinds() { return kKinds; }

}  // namespace serval::tabular
