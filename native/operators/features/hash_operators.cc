// StringToHashBucketFast, StringToHashBucketStrong, StringToHashBucket and Fingerprint. Hot path,
// any thread.
#include "operators/features/hash.h"
#include "operators/groups.h"
#include "operators/kernel_io.h"

namespace serval::operators {
namespace {

// Maps strings to bucket numbers: fast, legacy, or strong with the attribute `key`.
class StringToHashBucket final : public Kernel {
 public:
  enum class Function : uint8_t { Fast, Strong, Legacy };
  StringToHashBucket(Function function, uint64_t buckets, uint64_t key0, uint64_t key1)
      : function_(function), buckets_(buckets), key0_(key0), key1_(key1) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView input = io.view(0);
    const auto texts = io.elements<std::string_view>(input);
    const std::span<int64_t> out = io.output<int64_t>(0, input.shape);
    if (io.failed()) return io.take();
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<int64_t>(hash(texts[i]) % buckets_);
    }
    return ok_status();
  }

 private:
  uint64_t hash(std::string_view text) const {
    if (function_ == Function::Fast) return fingerprint64(text);
    if (function_ == Function::Strong) return strong_hash64(key0_, key1_, text);
    return legacy_hash64(text);
  }
  const Function function_;
  const uint64_t buckets_, key0_, key1_;
};

template <StringToHashBucket::Function kFunction>
Result<std::unique_ptr<Kernel>> make_buckets(const KernelAttributes& attributes) {
  const int64_t buckets = attributes.integer("num_buckets", 0);
  if (buckets < 1) return model_invalid("attribute 'num_buckets': expected 1 or more");
  std::vector<int64_t> key = attributes.integers("key");
  if (kFunction == StringToHashBucket::Function::Strong && key.size() != 2) {
    return model_invalid("attribute 'key': expected 2 integers, got " + std::to_string(key.size()));
  }
  key.resize(2);
  return std::unique_ptr<Kernel>(std::make_unique<StringToHashBucket>(
      kFunction, static_cast<uint64_t>(buckets), static_cast<uint64_t>(key[0]),
      static_cast<uint64_t>(key[1])));
}

// Hashes rows of any tensor to 8 bytes each: FarmHash's fingerprint, little-endian. For rows of
// several strings, hashes the strings' own fingerprints.
class Fingerprint final : public Kernel {
 public:
  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView data = io.view(0);
    if (!io.require(data.shape.rank() > 0, "`data` must have at least one dimension.")) {
      return io.take();
    }
    const size_t rows = static_cast<size_t>(data.shape[0]);
    const size_t each = RowCopier::elements_per_row(data.shape);
    const auto out = io.output<uint8_t>(0, shape_of({data.shape[0], 8}));
    if (io.failed()) return io.take();
    std::string joined;
    for (size_t row = 0; row < rows; ++row) {
      uint64_t hash = 0;
      if (data.dtype != DType::Bytes) {
        const size_t bytes = each * dtype_bytes(data.dtype);
        hash = fingerprint64({reinterpret_cast<const char*>(data.data) + row * bytes, bytes});
      } else if (data.shape.rank() == 1) {
        hash = fingerprint64(data.strings[row]);
      } else {
        joined.clear();
        for (size_t i = 0; i < each; ++i) {
          const uint64_t part = fingerprint64(data.strings[row * each + i]);
          joined.append(reinterpret_cast<const char*>(&part), sizeof part);
        }
        hash = fingerprint64(joined);
      }
      std::memcpy(out.data() + row * sizeof hash, &hash, sizeof hash);
    }
    return ok_status();
  }
};

Result<std::unique_ptr<Kernel>> make_fingerprint(const KernelAttributes&) {
  return std::unique_ptr<Kernel>(std::make_unique<Fingerprint>());
}

}  // namespace

std::vector<OperatorType> hash_operators() {
  using Function = StringToHashBucket::Function;
  const Operand text{DType::Bytes}, integer{DType::Int64};
  return {
      {"StringToHashBucketFast", {text}, {integer}, make_buckets<Function::Fast>},
      {"StringToHashBucketStrong", {text}, {integer}, make_buckets<Function::Strong>},
      {"StringToHashBucket", {text}, {integer}, make_buckets<Function::Legacy>},
      {"Fingerprint", {Operand{}}, {Operand{DType::Uint8}}, make_fingerprint},
  };
}

}  // namespace serval::operators
