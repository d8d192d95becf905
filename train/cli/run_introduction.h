#pragma once

namespace dikkat {

class Trainer;

/// Prints what a run will do before it starts: machine, model, data, length, memory, disk and ranks. Warns of what is likely to go wrong,
/// such as too little memory.
void print_introduction(const Trainer& trainer);

}  // namespace dikkat
