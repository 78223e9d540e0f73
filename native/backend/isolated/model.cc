// Runs an isolated model through its channels. Hot path; any thread.
#include "backend/isolated/model.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "backend/isolated/tensors.h"
#include "base/buffer.h"
#include "base/clock.h"

namespace serval::isolated {

namespace {

// Outputs up to this size, and larger ones that are not floats, are copied before they are read: an
// encoder may read them twice, and a faulty process could write in between. (No encoder's size
// depends on the values of floats.)
constexpr uint64_t kCopiedBytesMax = 256 * 1024;
constexpr size_t kCopyKeepBytes = 1u << 20;

// Ends one current run.
class Ender final : public RunEnder {
 public:
  void begin(ServerChannel& channel) {
    channel_ = &channel;
    ending_ns_.store(0, std::memory_order_relaxed);
  }
  // Called after the request was handed over, before the run's begin_run().
  void number(uint32_t number) { number_.store(number); }
  void end_run() override {
    channel_->end_run(number_.load());
    ending_ns_.store(now_ns());
  }
  const std::atomic<uint64_t>& ending_ns() const { return ending_ns_; }

 private:
  ServerChannel* channel_ = nullptr;
  std::atomic<uint32_t> number_{0};
  std::atomic<uint64_t> ending_ns_{0};
};

// Writes the device memory that a request uses, and the places requested for its outputs. Read by
// ServedChannel::read_devices().
void write_devices(const DeviceList& devices, std::span<const OutputPlace> places, Writer& head) {
  head.number(static_cast<uint64_t>(devices.size()));
  for (const gpu::SharedMemory* one : devices) {
    head.number(one->id());
    head.number(one->spec().device);
    head.number(one->bytes());
    head.raw(one->spec().handle.reserved, gpu::kIpcHandleBytes);
  }
  if (devices.empty()) return;
  head.number(static_cast<uint64_t>(places.size()));
  for (const OutputPlace& one : places) {
    const auto found = std::find(devices.begin(), devices.end(), one.memory);
    const auto place = static_cast<uint64_t>(found - devices.begin());
    head.number(one.memory == nullptr ? uint64_t{0} : place + 1);
    head.number(one.offset);
    head.number(one.bytes);
  }
}

// Whether a device output is exactly at its requested place; otherwise it is invalid.
bool is_in_place(const TensorView& output, const OutputPlace& place) {
  if (output.device == nullptr) return true;
  return output.device == place.memory && output.data == place.memory->data() + place.offset &&
         output.bytes <= place.bytes;
}

class Scratch final : public BackendScratch {
 public:
  explicit Scratch(MemoryBudget* budget) { copy_.charge_to(budget); }
  std::span<const TensorView> outputs() const override { return outputs_; }
  void release_outputs() override {
    outputs_.clear();
    message_.trim();
    copy_.shrink(kCopyKeepBytes);
    if (channel_ != nullptr) channel_->trim();
  }

 private:
  friend class Model;
  std::shared_ptr<ServerChannel> channel_;
  Ender ender_;
  Writer head_;
  Message message_;
  ByteBuffer copy_;
  DeviceList devices_;  // of this run
  std::vector<TensorView> outputs_;
};

class Model final : public BackendModel {
 public:
  Model(std::shared_ptr<ModelProcess> process, std::string name, ModelProcess::Added added,
        MemoryBudget* budget)
      : process_(std::move(process)),
        name_(std::move(name)),
        id_(added.id),
        info_(std::move(added.info)),
        up_(std::move(added.up)),
        budget_(budget) {}
  ~Model() override { process_->remove(id_); }

  const BackendModelInfo& info() const override { return info_; }
  // Called before each run of a model on several devices.
  bool can_run() const override { return up_->load(std::memory_order_relaxed); }
  std::unique_ptr<BackendScratch> make_scratch() override {
    return std::make_unique<Scratch>(budget_);
  }

  // Hot path: run. One batch through the model's process.
  Status run(uint32_t signature, std::span<const TensorView> inputs,
             std::span<const uint32_t> output_indices, BackendScratch& scratch_base,
             const RunOptions& options) override {
    Scratch& scratch = static_cast<Scratch&>(scratch_base);
    scratch.release_outputs();
    const CancelFlag* const cancel = options.cancel;
    if (cancel != nullptr && cancel->cancelled()) {
      return make_error(ErrorCode::Cancelled, "the request was cancelled before its model ran");
    }
    if (signature >= info_.signatures.size()) {
      return make_error(ErrorCode::Internal, "no signature of index " + std::to_string(signature));
    }
    if (Status ready = have_channel(scratch); !ready.ok()) return ready;
    scratch.channel_->resume();
    std::span<const OutputPlace> places;
    if (info_.takes_device_memory) places = options.places;
    const Result<uint64_t> bytes = write(signature, inputs, output_indices, places, scratch);
    if (!bytes.ok()) return bytes.error();
    const ServerChannel::Outcome outcome = wait(scratch, bytes.value(), cancel);
    Status status = read(signature, output_indices, places, outcome, scratch);
    if (!status.ok() && cancel != nullptr && cancel->cancelled()) {
      return make_error(ErrorCode::Cancelled, "the model's run was ended");
    }
    return status;
  }

 private:
  Status have_channel(Scratch& scratch) const {
    if (scratch.channel_ != nullptr && !scratch.channel_->dead()) return {};
    scratch.channel_.reset();
    Result<std::shared_ptr<ServerChannel>> opened = process_->open(id_);
    if (!opened.ok()) return std::move(opened.error());
    scratch.channel_ = std::move(opened.value());
    return {};
  }

  Result<uint64_t> write(uint32_t signature, std::span<const TensorView> inputs,
                         std::span<const uint32_t> output_indices,
                         std::span<const OutputPlace> places, Scratch& scratch) const {
    Writer& head = scratch.head_;
    ServerChannel& channel = *scratch.channel_;
    DeviceList& devices = scratch.devices_;
    head.clear();
    head.number(signature);
    head.number(channel.answer_bytes_max());
    head.number(static_cast<uint64_t>(output_indices.size()));
    for (const uint32_t one : output_indices) head.number(one);
    devices.clear();
    for (const TensorView& one : inputs) list_device(one.device, devices);
    for (const OutputPlace& one : places) list_device(one.memory, devices);
    write_devices(devices, places, head);
    const std::optional<uint64_t> elements = write_records(inputs, devices, head);
    const uint64_t bytes = elements ? message_bytes(head, *elements) : UINT64_MAX;
    if (!elements || !channel.hold(bytes, 0)) {
      return make_error(ErrorCode::MemoryFull, "no memory for a request's tensors of " +
                                                   std::to_string(elements.value_or(0)) + " bytes");
    }
    Status written = write_message(head, *elements, inputs, channel.requests());
    if (!written.ok()) return std::move(written.error());
    return bytes;
  }

  ServerChannel::Outcome wait(Scratch& scratch, uint64_t bytes, const CancelFlag* cancel) const {
    Ender& ender = scratch.ender_;
    ServerChannel& channel = *scratch.channel_;
    ender.begin(channel);
    const uint32_t number = channel.hand_over(bytes);
    ender.number(number);
    if (cancel == nullptr) return channel.wait(number, ender.ending_ns());
    cancel->begin_run(ender);
    const ServerChannel::Outcome outcome = channel.wait(number, ender.ending_ns());
    cancel->leave_run(ender);
    return outcome;
  }

  Status read(uint32_t signature, std::span<const uint32_t> output_indices,
              std::span<const OutputPlace> places, ServerChannel::Outcome outcome,
              Scratch& scratch) const {
    if (outcome == ServerChannel::Outcome::Answered) {
      return read_answer(signature, output_indices, places, scratch);
    }
    const std::shared_ptr<ServerChannel> channel = std::move(scratch.channel_);
    switch (outcome) {
      case ServerChannel::Outcome::GivenUp: process_->give_up(channel); break;
      case ServerChannel::Outcome::Refused:
        return make_error(ErrorCode::ModelNotReady,
                          "model '" + name_ + "': its process has no thread left for a request");
      case ServerChannel::Outcome::Answered:
      case ServerChannel::Outcome::Dead: break;
    }
    return process_->death_error(id_);
  }

  // Checks everything that the process wrote before it is used.
  Status read_answer(uint32_t signature, std::span<const uint32_t> output_indices,
                     std::span<const OutputPlace> places, Scratch& scratch) const {
    ServerChannel& channel = *scratch.channel_;
    const uint64_t bytes = channel.page().answer_bytes.load();
    if (bytes > kAnswerBytesMax) return of_no_sense(scratch);
    if (!channel.hold(0, bytes)) {
      scratch.channel_.reset();  // releases the channel with all of its memory
      return make_error(ErrorCode::MemoryFull,
                        "no memory for outputs of " + std::to_string(bytes) + " bytes");
    }
    if (!scratch.message_.read(channel.answers(), bytes)) return of_no_sense(scratch);
    Reader head = scratch.message_.head();
    const auto failed = head.number<uint8_t>();
    if (!head.ok() || failed > 1) return of_no_sense(scratch);
    if (failed == 1) return read_error(head);
    std::vector<TensorView>& outputs = scratch.outputs_;
    const std::vector<TensorSpec>& specs = info_.signatures[signature].outputs;
    bool sound = scratch.message_.read_tensors(head, scratch.devices_, outputs) &&
                 outputs.size() == output_indices.size();
    for (size_t i = 0; sound && i < outputs.size(); ++i) {
      sound = output_indices[i] < specs.size() &&
              outputs[i].dtype == specs[output_indices[i]].dtype &&
              is_in_place(outputs[i], i < places.size() ? places[i] : OutputPlace());
    }
    return sound ? keep(scratch) : of_no_sense(scratch);
  }

  // Ends the process, which sent an invalid response.
  Error of_no_sense(Scratch& scratch) const {
    scratch.outputs_.clear();
    scratch.channel_.reset();
    process_->end("it sent an invalid response");
    return make_error(ErrorCode::BackendFailed,
                      "model '" + name_ + "': its process sent an invalid response");
  }

  static Status keep(Scratch& scratch) {
    uint64_t bytes = 0;
    const auto copied = [](const TensorView& one) {
      return one.device == nullptr && one.bytes > 0 &&
             (one.bytes <= kCopiedBytesMax || !dtype_is_real(one.dtype));
    };
    const auto room = [](const TensorView& one) {
      return (one.bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    };
    for (const TensorView& one : scratch.outputs_) bytes += copied(one) ? room(one) : 0;
    scratch.copy_.clear();
    uint8_t* to = bytes == 0 ? nullptr : scratch.copy_.grow(bytes);
    if (bytes > 0 && to == nullptr) {
      scratch.outputs_.clear();
      return make_error(ErrorCode::MemoryFull,
                        "no memory for outputs of " + std::to_string(bytes) + " bytes");
    }
    for (TensorView& one : scratch.outputs_) {
      if (!copied(one)) continue;
      std::memcpy(to, one.data, one.bytes);
      one.data = to;
      to += room(one);
    }
    return {};
  }

  const std::shared_ptr<ModelProcess> process_;
  const std::string name_;
  const uint32_t id_;
  const BackendModelInfo info_;
  const std::shared_ptr<const std::atomic<bool>> up_;
  MemoryBudget* const budget_;
};

}  // namespace

Result<std::shared_ptr<BackendModel>> load_isolated(std::shared_ptr<ModelProcess> process,
                                                    ModelSource source, MemoryBudget* budget) {
  std::string name = source.name;
  Result<ModelProcess::Added> added = process->add(std::move(source));
  if (!added.ok()) return std::move(added.error());
  return std::shared_ptr<BackendModel>(std::make_shared<Model>(std::move(process), std::move(name),
                                                               std::move(added.value()), budget));
}

}  // namespace serval::isolated
