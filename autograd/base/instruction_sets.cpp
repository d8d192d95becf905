#include "autograd/base/instruction_sets.h"

namespace dikkat {

#define DIKKAT_TEXT(macro) #macro
#define DIKKAT_BIT(macro, name, bit, ...) \
  | (std::uint32_t{DIKKAT_TEXT(macro)[0] == '1'} << (bit))  // a macro that is not defined expands to its name
constexpr std::uint32_t kCompiledFor = 0 DIKKAT_INSTRUCTION_SETS(DIKKAT_BIT);

}  // namespace dikkat
