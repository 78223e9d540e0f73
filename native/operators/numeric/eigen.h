// Eigen, as all that use it must include it: its licence's MPL parts only, no threads of its own,
// and nothing printed. Hot path.
#pragma once

#define EIGEN_MPL2_ONLY
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG  // its assertions end the process; what they check is checked before

#include <Eigen/Core>
