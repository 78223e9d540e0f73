// The list of every custom operator. Control plane.
#include <iterator>

#include "operators/groups.h"
#include "operators/sparse/groups_of_values.h"
#include "operators/strict/groups.h"

namespace serval::operators {

std::vector<OperatorType> all_operators() {
  std::vector<OperatorType> all;
  constexpr std::vector<OperatorType> (*kGroups[])() = {
      bincount_operators,       cross_operators,
      example_operators,        hash_operators,
      lookup_operators,         ragged_operators,
      ragged_row_operators,     segment_operators,
      selection_operators,      sparse_operators,
      sparse_group_operators,   sparse_part_operators,
      sparse_segment_operators, sequence_operators,
      regex_operators,          string_element_operators,
      string_format_operators,  string_join_operators,
      string_number_operators,  string_split_operators,
      unicode_operators,        image_operators,
      checked_operators,        division_operators,
      no_row_operators,         bitcast_operators,
      dynamic_slice_operators,  complex_operators,
      decompose_operators,      fourier_operators,
      solve_operators,          special_operators,
      beam_decoder_operators,   greedy_decoder_operators,
      tree_operators,           extreme_operators,
      index_check_operators,    require_operators,
      top_k_operators,          normalize_operators,
      pool_operators,           comparison_operators,
      gamma_operators,          pivot_operators,
      encode_image_operators,   wav_operators,
      decode_proto_operators,   encode_proto_operators,
  };
  for (const auto group : kGroups) {
    std::vector<OperatorType> types = group();
    all.insert(all.end(), std::make_move_iterator(types.begin()),
               std::make_move_iterator(types.end()));
  }
  return all;
}

}  // namespace serval::operators
