// See outputs.h. Hot path; any thread.
#include "codec/table/outputs.h"

#include "codec/table/tensor.h"

namespace serval::table {

Status add_output(const NamedOutput& wanted, bool binary_by_default, const Signature& signature,
                  DecodedRequest& out) {
  const std::string where = "requested output " + quoted(wanted.name);
  const int index = signature.find_output(wanted.name);
  if (index < 0) {
    std::string names;
    for (const TensorSpec& output : signature.outputs) {
      if (names.size() > kErrorValueBytesMax) break;
      names += (names.empty() ? "" : ", ") + quoted(output.name);
    }
    return invalid_argument(where + ": the model has no such output; expected one of " + names);
  }
  for (const RequestedOutput& earlier : out.outputs) {
    if (earlier.index != static_cast<uint32_t>(index)) continue;
    return invalid_argument(where + ": given more than once");
  }
  if (wanted.has_classification) {
    return invalid_argument(where + ": parameter 'classification': tabular models name their " +
                            "classes by outputs of their own");
  }
  const bool binary = wanted.has_binary ? wanted.binary : binary_by_default;
  out.outputs.push_back({static_cast<uint32_t>(index), binary});
  return {};
}

void add_default_outputs(const TableSchema& table, bool binary, DecodedRequest& out) {
  for (uint32_t i = 0; i < table.outputs.size(); ++i) {
    const bool extra = i < table.extra.size() && table.extra[i];
    if (!extra) out.outputs.push_back({i, binary});
  }
}

}  // namespace serval::table
