// The kinds of stage in this folder. Load thread.
#include "tabular/pmml/kinds.h"

namespace serval::tabular {
namespace {

constexpr StageKind kKinds[] = {
    {stages::pmml_field::kind, pmml::make_field},
    {stages::pmml_norm_continuous::kind, pmml::make_norm_continuous},
    {stages::pmml_norm_discrete::kind, pmml::make_norm_discrete},
    {stages::pmml_discretize::kind, pmml::make_discretize},
    {stages::pmml_map_values::kind, pmml::make_map_values},
    {stages::pmml_text_index::kind, pmml::make_text_index},
    {stages::pmml_aggregate::kind, pmml::make_aggregate},
    {stages::pmml_vector::kind, pmml::make_vector},
    {stages::pmml_classify::kind, pmml::make_classify},
    {stages::pmml_pick::kind, pmml::make_pick},
    {stages::pmml_ranked::kind, pmml::make_ranked},
    {stages::pmml_element::kind, pmml::make_element},
    {stages::pmml_tree::kind, pmml::make_tree},
    {stages::pmml_segment::kind, pmml::make_segment},
    {stages::pmml_choose::kind, pmml::make_choose},
    {stages::pmml_combine::kind, pmml::make_combine},
    {stages::pmml_vote::kind, pmml::make_vote},
    {stages::pmml_blend::kind, pmml::make_blend},
    {stages::pmml_leaf_votes::kind, pmml::make_leaf_votes},
    {stages::pmml_collect::kind, pmml::make_collect},
    {stages::pmml_rules::kind, pmml::make_rules},
    {stages::pmml_scorecard::kind, pmml::make_scorecard},
};

}  // namespace

std::span<const StageKind> pmml_kinds() { return kKinds; }

}  // namespace serval::tabular
