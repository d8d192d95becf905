#pragma once

#include "train/metrics/provenance.h"

namespace dikkat {

/// Of this process, now.
Provenance own_provenance();

}  // namespace dikkat
