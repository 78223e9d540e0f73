// Operators that couple the rows of a batch, whatever their inputs are. See rule.h.
#include "backend/rows/rule.h"

namespace serval::rows {

std::vector<Rule> coupling_rules() {
  const char* const family = "Never";
  const char* const drawn = "it draws random numbers";
  const char* const scaled = "its scale is computed from the whole batch";
  const char* const lengths = "its number of entries depends on the values of all rows";
  return {
      {family,
       drawn,
       "",
       {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
        "RandomUniformLike"},
       nullptr,
       true,
       true,
       true},
      {family, scaled, "", {"DynamicQuantizeLinear"}},
      {family,
       scaled,
       "com.microsoft",
       {"DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"}},
      {family, lengths, "", {"NonMaxSuppression", "NonZero", "Unique"}},
      {family, lengths, "com.microsoft", {"Tokenizer", "Unique", "WordConvEmbedding"}},
  };
}

}  // namespace serval::rows
