// The groups of operators that operators.cc combines. Control plane.
#pragma once

#include <vector>

#include "operators/operator.h"

namespace serval::operators {

// features/
std::vector<OperatorType> bincount_operators();
std::vector<OperatorType> cross_operators();
std::vector<OperatorType> example_operators();
std::vector<OperatorType> hash_operators();
std::vector<OperatorType> lookup_operators();
std::vector<OperatorType> ragged_operators();
std::vector<OperatorType> ragged_row_operators();
std::vector<OperatorType> segment_operators();
std::vector<OperatorType> selection_operators();
std::vector<OperatorType> sequence_operators();
std::vector<OperatorType> sparse_operators();
std::vector<OperatorType> sparse_part_operators();
std::vector<OperatorType> sparse_segment_operators();

// arrays/
std::vector<OperatorType> bitcast_operators();
std::vector<OperatorType> dynamic_slice_operators();

// guards/
std::vector<OperatorType> checked_operators();
std::vector<OperatorType> division_operators();
std::vector<OperatorType> no_row_operators();

// decoders/
std::vector<OperatorType> beam_decoder_operators();
std::vector<OperatorType> greedy_decoder_operators();

// trees/
std::vector<OperatorType> tree_operators();

// strings/
std::vector<OperatorType> regex_operators();
std::vector<OperatorType> string_element_operators();
std::vector<OperatorType> string_format_operators();
std::vector<OperatorType> string_join_operators();
std::vector<OperatorType> string_number_operators();
std::vector<OperatorType> string_split_operators();
std::vector<OperatorType> unicode_operators();

// numeric/
std::vector<OperatorType> complex_operators();
std::vector<OperatorType> decompose_operators();
std::vector<OperatorType> fourier_operators();
std::vector<OperatorType> solve_operators();
std::vector<OperatorType> gamma_operators();
std::vector<OperatorType> pivot_operators();
std::vector<OperatorType> special_operators();

// images/
std::vector<OperatorType> image_operators();
std::vector<OperatorType> encode_image_operators();

// audio/
std::vector<OperatorType> wav_operators();

// protos/
std::vector<OperatorType> decode_proto_operators();
std::vector<OperatorType> encode_proto_operators();

}  // namespace serval::operators
