// Includes Eigen as all its users must: only the parts under the MPL, without its own threads, and
// without output. Hot path.
#pragma once

#define EIGEN_MPL2_ONLY
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG  // its assertions end the process; their conditions are checked before

#include <Eigen/Core>
