// The kinds of stage that PMML documents need besides their model elements (models/). Load thread.
// Source: tabular.md 3.3
#pragma once

#include <memory>

#include "tabular/stage.h"

namespace serval::tabular::pmml {

std::unique_ptr<Stage> make_field(StageSpec& spec);
std::unique_ptr<Stage> make_norm_continuous(StageSpec& spec);
std::unique_ptr<Stage> make_norm_discrete(StageSpec& spec);
std::unique_ptr<Stage> make_discretize(StageSpec& spec);
std::unique_ptr<Stage> make_map_values(StageSpec& spec);
std::unique_ptr<Stage> make_text_index(StageSpec& spec);
std::unique_ptr<Stage> make_aggregate(StageSpec& spec);
std::unique_ptr<Stage> make_vector(StageSpec& spec);
std::unique_ptr<Stage> make_classify(StageSpec& spec);
std::unique_ptr<Stage> make_pick(StageSpec& spec);
std::unique_ptr<Stage> make_ranked(StageSpec& spec);
std::unique_ptr<Stage> make_element(StageSpec& spec);
std::unique_ptr<Stage> make_tree(StageSpec& spec);
std::unique_ptr<Stage> make_segment(StageSpec& spec);
std::unique_ptr<Stage> make_choose(StageSpec& spec);
std::unique_ptr<Stage> make_combine(StageSpec& spec);
std::unique_ptr<Stage> make_vote(StageSpec& spec);
std::unique_ptr<Stage> make_blend(StageSpec& spec);
std::unique_ptr<Stage> make_leaf_votes(StageSpec& spec);
std::unique_ptr<Stage> make_collect(StageSpec& spec);
std::unique_ptr<Stage> make_rules(StageSpec& spec);
std::unique_ptr<Stage> make_scorecard(StageSpec& spec);

}  // namespace serval::tabular::pmml
