// The cores of this process. Any thread; they are counted once.
#pragma once

#include <cstdint>

namespace serval {

// The number of cores this process may use, by affinity and its control group's quota: at least 1.
uint32_t usable_cores();

}  // namespace serval
