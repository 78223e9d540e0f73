// A loaded plan: fields, outputs and the stages between them. Made on a load thread, immutable
// then; any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/table_schema.h"
#include "tabular/java/zone.h"
#include "tabular/lazy/needs.h"
#include "tabular/mapped_file.h"
#include "tabular/stage.h"

namespace serval::plan {
struct Plan;
}

namespace serval::tabular {

class Plan {
  struct Private {};

 public:
  explicit Plan(Private) {}
  // `runtime` runs the ONNX graphs of large numeric parts (dense/island.h); null: none are used.
  // Errors: model_invalid naming the file and all of its faults.
  static Result<std::shared_ptr<const Plan>> load(const std::string& path,
                                                  Backend* runtime = nullptr);
  // Reads bytes that `owner` keeps alive, aligned to 8. `name` is for errors.
  static Result<std::shared_ptr<const Plan>> read(std::span<const uint8_t> bytes,
                                                  std::shared_ptr<const void> owner,
                                                  const std::string& name,
                                                  Backend* runtime = nullptr);

  const TableSchema& schema() const { return schema_; }
  // Columns of schema().fields and .outputs.
  const std::vector<uint32_t>& field_columns() const { return field_columns_; }
  const std::vector<uint32_t>& output_columns() const { return output_columns_; }
  // Whether the output is only computed for requests that name it.
  bool on_request(size_t output) const { return !on_request_.empty() && on_request_[output]; }
  size_t column_count() const { return column_count_; }
  uint32_t island_count() const { return island_count_; }
  const std::string& format() const { return format_; }
  const std::string& producer() const { return producer_; }
  size_t bytes() const { return bytes_; }
  const Dictionary& dictionary() const { return dictionary_; }

  // Runs stages over the frame, whose field columns hold frame.rows rows each. Fills the columns of
  // `outputs` (indices of schema().outputs; empty: all but those on request). A lazy plan skips
  // stages that these outputs do not need, others only those on request; the contents of other
  // columns are undefined. Errors: those of Block::run.
  Status run(Frame& frame, const RunOptions& options, const CancelFlag* cancel,
             std::span<const uint32_t> outputs = {}) const;

 private:
  Result<bool> read_from(std::span<const uint8_t> bytes, const std::string& name, Backend* runtime);
  void find_needs(const plan::Block& block);
  void find_stages_on_request(const plan::Block& block);
  Status read_background(const plan::Plan& plan);
  void prepare_fields(Frame& frame) const;
  const std::vector<bool>* stages_for(std::span<const uint32_t> outputs,
                                      std::vector<bool>& made) const;
  std::vector<uint32_t> columns_of(std::span<const uint32_t> outputs) const;

  std::shared_ptr<const void> owner_;  // owner of the bytes that stages read
  TableSchema schema_;
  std::vector<uint32_t> field_columns_, output_columns_;
  size_t column_count_ = 0, bytes_ = 0;
  bool lazy_ = false;
  Needs needs_;                     // for a lazy plan, and one with stages on request
  std::vector<uint32_t> defaults_;  // lazy: outputs that are not extra
  std::vector<bool> default_stages_;
  std::vector<bool> on_request_;  // by output: it needs a stage that is. Empty: none does
  std::string format_, producer_;
  Zones zones_;
  Dictionary dictionary_;
  Block block_;
  uint32_t island_count_ = 0;
};

}  // namespace serval::tabular
