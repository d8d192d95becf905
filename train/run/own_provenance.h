#pragma once

#include "train/metrics/provenance.h"

namespace dikkat {

/// Returns the provenance of a run that this process begins or resumes now.
Provenance own_provenance();

}  // namespace dikkat
