// Prints the instruction set that was chosen.
#include <cstdio>

#include "autograd/kernels/instruction_set.h"

int main() { std::puts(dikkat::kernels::instruction_set()); }
