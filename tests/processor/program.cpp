#include <cstdio>

#include "autograd/base/error.h"
#include "autograd/base/pages.h"

// Takes memory, as every tensor does, and reports whether that worked.
int main() {
  try {
    const dikkat::Pages memory(4096, "memory");
    std::puts("has memory");
  } catch (const dikkat::Error& error) {
    std::printf("error: %s\n", error.what());
  }
}
