// Times of limits, as now_ns() counts. Data only; any thread.
#pragma once

#include <cstdint>
#include <limits>

namespace serval {

// A time that never comes.
inline constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

}  // namespace serval
