#pragma once

namespace dikkat {

/// Checks the environment variables DIKKAT_*: warns of a name that looks misspelled. Throws InputError if DIKKAT_ISA names an instruction
/// set that this build does not run on.
void check_environment();

}  // namespace dikkat
