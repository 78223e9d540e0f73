// Words refusals by limits. Hot path (errors); any thread.
#include "engine/request/limit_error.h"

#include <algorithm>
#include <string>

#include "base/clock.h"
#include "engine/request/missing.h"

namespace serval {

Error limit_error(const LimitHit& hit) {
  const RequestLimits& by = *hit.by;
  const bool is_key = by.of() == RequestLimits::Of::Key;
  const std::string limit(name_of(hit.kind));
  const uint64_t wait_s = (hit.wait_ns + 1000 * kNsPerMs - 1) / (1000 * kNsPerMs);
  Missing missing;
  missing.part = fb::MissingPart::Limit;
  missing.retry_after_s = static_cast<uint32_t>(std::max<uint64_t>(1, wait_s));
  Error error = make_error(
      ErrorCode::LimitReached,
      std::string(is_key ? "key '" : "model '") + by.name() + "': its limit " + limit + " of " +
          by.value_of(hit.kind) + " is reached; to admit more, raise " + limit +
          (is_key ? " of this key in the key file" : " in the parameters of its config.pbtxt"));
  error.missing = missing.pack();
  return error;
}

}  // namespace serval
