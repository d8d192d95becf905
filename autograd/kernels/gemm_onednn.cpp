#include "autograd/kernels/gemm_libraries.h"

#if defined(DIKKAT_ONEDNN)

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "autograd/base/error.h"
#include "autograd/base/pages.h"
#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/base/signals.h"

namespace dikkat::kernels {
namespace {

using Memory = dnnl::memory;

/// Makes the processor alone decide which code oneDNN generates. Environment variables (ONEDNN_MAX_CPU_ISA, ONEDNN_CPU_ISA_HINTS,
/// ONEDNN_DEFAULT_FPMATH_MODE, and the same with DNNL_) could change the bits of a resumed run, so they are overridden here, before the
/// first use of the library. The others that version 2.6 reads (VERBOSE, JIT_DUMP, JIT_PROFILE, PRIMITIVE_CACHE_CAPACITY) change no bits.
const dnnl::engine& cpu() {
  static const dnnl::engine engine = [] {
    // This fails if other code of this process has used oneDNN before; then its choice stays.
    static_cast<void>(dnnl::set_max_cpu_isa(dnnl::cpu_isa::all));
    static_cast<void>(dnnl::set_cpu_isa_hints(dnnl::cpu_isa_hints::no_hints));
    dnnl::set_default_fpmath_mode(dnnl::fpmath_mode::strict);
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

Memory::desc matrix(index rows, index cols, index ld, bool transposed) {
  return {{rows, cols}, Memory::data_type::f32, transposed ? Memory::dims{1, ld} : Memory::dims{ld, 1}};
}

/// Identifies a part of a plan in the threads' caches. An address would not do: a new plan may have the address of an evicted one.
std::uint64_t new_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// Everything that the product of a block depends on, except pointers.
struct BlockShape {
  index rows, n, k, lda, ldc;
  bool transpose_a, add, bias;
  auto operator<=>(const BlockShape&) const = default;
};

/// The product of one block of rows with packed weights, for one thread. Many threads use it at once, so callers provide the scratchpad:
/// with oneDNN's own, threads would overwrite each other's data.
struct BlockProduct {
  const std::uint64_t id = new_id();
  explicit BlockProduct(const BlockShape& s, const Memory::desc* packed_like)
      : a(matrix(s.rows, s.k, s.lda, s.transpose_a)), c(matrix(s.rows, s.n, s.ldc, false)), has_bias(s.bias) {
    const WithThreads one(1);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (s.add) {
      dnnl::post_ops sum;
      sum.append_sum(1.0F);
      attributes.set_post_ops(sum);
    }
    const Memory::desc b =
        packed_like != nullptr ? *packed_like : Memory::desc({s.k, s.n}, Memory::data_type::f32, Memory::format_tag::any);
    bias = Memory::desc({1, s.n}, Memory::data_type::f32, Memory::format_tag::ab);
    const auto description = has_bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
    const dnnl::matmul::primitive_desc chosen(description, attributes, cpu());
    packed = chosen.weights_desc();
    work = chosen.scratchpad_desc();
    product = dnnl::matmul(chosen);
  }

  Memory::desc a, packed, bias, c, work;
  bool has_bias;
  dnnl::matmul product;
};

/// Everything that packing op(B), (k, n), for a product depends on.
struct PackShape {
  index n, k, ldb;
  bool transpose_b;
  auto operator<=>(const PackShape&) const = default;
};

/// Packs columns `first` to `first + count - 1`, on one thread. The views are parts of the whole matrices.
struct Packing {
  Packing(const PackShape& s, const Memory::desc& packed, index first, index count)
      : from(matrix(s.k, s.n, s.ldb, s.transpose_b).submemory_desc({s.k, count}, {0, first})),
        to(packed.submemory_desc({s.k, count}, {0, first})) {
    const WithThreads one(1);
    reorder = dnnl::reorder(dnnl::reorder::primitive_desc(cpu(), from, cpu(), to));
  }

  std::uint64_t id = new_id();
  Memory::desc from, to;
  dnnl::reorder reorder;
};

/// Packing split into whole blocks of columns, for several threads.
std::vector<Packing> packings(const PackShape& s, const Memory::desc& packed) {
  constexpr index kColumns = 64;  // the widest block of columns that oneDNN packs by
  constexpr index kPieces = 8;
  const index width = round_up(ceil_div(s.n, kPieces), kColumns);
  std::vector<Packing> pieces;
  for (index first = 0; first < s.n; first += width) {
    pieces.emplace_back(s, packed, first, std::min(width, s.n - first));
  }
  return pieces;
}

/// Columns of C in a block, if C is split by columns. Their part of packed B stays in L2 while the loop goes over all rows of A.
constexpr index kColumnBlock = 128;
constexpr index kLeastColumnBlocks = 8;

/// How a product is split into blocks, one thread each. Depends on the shape alone.
/// By columns, if there are many: the thread of a block packs the part of B that it needs. If A is transposed, oneDNN copies A for each
/// block of columns and B for each block of rows, so the longer side is split. By rows, otherwise: all of B is packed first, by several
/// threads, or not at all if oneDNN reads it in place.
struct Plan {
  bool by_columns;
  index size, count;                                // columns or rows of a block, and blocks
  std::shared_ptr<const BlockProduct> whole, last;  // the last block may be smaller
  std::vector<Packing> packing;                     // by columns: of a whole block and of the last

  Plan(BlockShape shape, PackShape pack)
      : by_columns(shape.n >= kLeastColumnBlocks * kColumnBlock && (!shape.transpose_a || shape.n > shape.rows)),
        size(by_columns ? kColumnBlock : gemm_blocks(shape.rows).rows),
        count(ceil_div(by_columns ? shape.n : shape.rows, size)) {
    index& all = by_columns ? shape.n : shape.rows;
    const index rest = all - (count - 1) * size;
    all = std::min(size, all);
    whole = std::make_shared<BlockProduct>(shape, nullptr);
    if (by_columns) {
      all = rest;
      last = std::make_shared<BlockProduct>(shape, nullptr);
      for (const auto& [block, columns] : {std::pair(whole, size), std::pair(last, rest)}) {
        pack.n = columns;
        packing.emplace_back(pack, block->packed, 0, columns);
      }
    } else {
      all = rest;
      last = count == 1 ? whole : std::make_shared<BlockProduct>(shape, &whole->packed);
      if (whole->packed != matrix(pack.k, pack.n, pack.ldb, pack.transpose_b)) {
        packing = packings(pack, whole->packed);
      }
    }
  }
};

/// Lives while oneDNN generates code. It checks that there is memory for the code, because oneDNN 2.6 writes it to address 0 when it gets
/// none. Only one thread at a time may do this; two would count on the same memory.
class Making {
 public:
  Making() : lock_(mutex_) {
    constexpr std::size_t kRoom = std::size_t{32} << 20;
    require_room(kRoom, "gemm: machine code of oneDNN");
  }

 private:
  static inline std::mutex mutex_;
  std::lock_guard<std::mutex> lock_;
};

/// The plans of the most recently used shapes are kept. A model has some dozens of shapes, but each prompt length has its own.
constexpr std::size_t kMostPlans = 512;

/// What one thread keeps for each plan, by id. It is cleared when it has far more entries than there are plans.
template <class Value>
class KnownToThread {
 public:
  bool contains(std::uint64_t id) const { return known_.contains(id); }
  template <class... Args>
  Value& get(std::uint64_t id, Args&&... args) {
    constexpr std::size_t kMost = 4 * kMostPlans;
    if (known_.size() >= kMost && !known_.contains(id)) {
      known_.clear();
    }
    return known_.try_emplace(id, std::forward<Args>(args)...).first->second;
  }

 private:
  std::unordered_map<std::uint64_t, Value> known_;
};

std::shared_ptr<const Plan> plan_for(const Gemm<float>& p) {
  struct Kept {
    std::shared_ptr<const Plan> plan;
    std::uint64_t used = 0;  // time of the last use, counted in products
  };
  const InsideLibrary inside;
  static std::mutex mutex;
  static std::map<std::pair<BlockShape, PackShape>, Kept> plans;
  static std::uint64_t products = 0;
  const BlockShape shape{p.m, p.n, p.k, p.lda, p.ldc, p.transpose_a, p.add, p.bias != nullptr};
  const PackShape pack{p.n, p.k, p.ldb, p.transpose_b};
  const std::lock_guard lock(mutex);
  const auto found = plans.find({shape, pack});
  if (found != plans.end()) {
    found->second.used = ++products;
    return found->second.plan;
  }
  if (plans.size() >= kMostPlans) {
    plans.erase(std::min_element(plans.begin(), plans.end(), [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  const Making making;
  return plans.emplace(std::pair(shape, pack), Kept{std::make_shared<const Plan>(shape, pack), ++products}).first->second.plan;
}

/// A thread's memory objects for a product. Creating them in each call would take longer than a small product.
struct Arguments {
  explicit Arguments(const BlockProduct& p)
      : a(p.a, cpu(), nullptr),
        b(p.packed, cpu(), nullptr),
        bias(p.bias, cpu(), nullptr),
        c(p.c, cpu(), nullptr),
        work(p.work, cpu(), nullptr) {
    list = {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}, {DNNL_ARG_SCRATCHPAD, work}};
    if (p.has_bias) {
      list.emplace(DNNL_ARG_BIAS, bias);
    }
  }
  Memory a, b, bias, c, work;
  std::unordered_map<int, Memory> list;
};

dnnl::stream& stream() {
  static thread_local dnnl::stream own(cpu());
  return own;
}

void point(Memory& memory, const float* data) {
  if (memory.get_data_handle() != data) {  // setting it writes the padding
    memory.set_data_handle(const_cast<float*>(data));
  }
}

/// Scratch memory of `bytes` bytes.
struct Bytes : Scratch<float> {
  explicit Bytes(std::size_t bytes) : Scratch(ceil_div(static_cast<index>(bytes), sizeof(float))) {}
};

void run(const BlockProduct& block, const float* a, const float* packed, const float* bias, float* c) {
  const InsideLibrary inside;
  block_signals_on_worker();
  const WithThreads one(1);  // otherwise oneDNN uses a team of another size, and the runtime ends and starts threads each time
  static thread_local KnownToThread<Arguments> known;
  std::optional<Making> making;
  if (!known.contains(block.id)) {
    making.emplace();  // oneDNN generates some code at the first use
  }
  Arguments& arguments = known.get(block.id, block);
  const Bytes work(block.work.get_size());
  point(arguments.a, a);
  point(arguments.b, packed);
  point(arguments.c, c);
  point(arguments.work, work);
  if (block.has_bias) {
    point(arguments.bias, bias);
  }
  block.product.execute(stream(), arguments.list);
}

void pack(const Packing& packing, const float* from, float* to) {
  const InsideLibrary inside;
  block_signals_on_worker();
  const WithThreads one(1);
  static thread_local KnownToThread<std::pair<Memory, Memory>> known;
  auto& [source, target] = known.get(packing.id, Memory(packing.from, cpu(), nullptr), Memory(packing.to, cpu(), nullptr));
  point(source, from);
  point(target, to);
  packing.reorder.execute(stream(), source, target);
}

}  // namespace

bool has_onednn() noexcept { return true; }

namespace {

void multiply(const Gemm<float>& p) {
  const SignalsBlocked blocked;  // on this thread; run() and pack() do it on the others
  const std::shared_ptr<const Plan> kept = plan_for(p);
  const Plan& plan = *kept;
  const std::size_t work = std::max(plan.whole->work.get_size(), plan.last->work.get_size());
  if (plan.by_columns) {
    parallel_for(
        plan.count, Work::products(p.m, p.n, p.k),
        [&] {
          const Bytes packed(std::max(plan.whole->packed.get_size(), plan.last->packed.get_size()));
          const Bytes asked(work);
        },
        [&](index i) {
          const index begin = i * plan.size;
          const bool last = i + 1 == plan.count;
          const BlockProduct& block = last ? *plan.last : *plan.whole;
          const Bytes packed(block.packed.get_size());
          pack(plan.packing[last], p.transpose_b ? p.b + begin * p.ldb : p.b + begin, packed);
          run(block, p.a, packed, p.bias == nullptr ? nullptr : p.bias + begin, p.c + begin);
        });
    return;
  }
  const float* b = p.b;
  const Bytes packed(plan.packing.empty() ? 0 : plan.whole->packed.get_size());
  if (!plan.packing.empty()) {
    parallel_for(static_cast<index>(plan.packing.size()), Work::elements(p.k * p.n),
                 [&](index i) { pack(plan.packing[static_cast<std::size_t>(i)], p.b, packed); });
    b = packed;
  }
  parallel_for(
      plan.count, Work::products(p.m, p.n, p.k), [&] { const Bytes asked(work); },
      [&](index i) {
        const index begin = i * plan.size;
        const BlockProduct& block = i + 1 == plan.count ? *plan.last : *plan.whole;
        run(block, p.transpose_a ? p.a + begin : p.a + begin * p.lda, b, p.bias, p.c + begin * p.ldc);
      });
}

}  // namespace

void gemm_onednn(const Gemm<float>& p) {
  try {
    multiply(p);
  } catch (const dnnl::error& e) {
    fail("gemm: oneDNN ", e.status == dnnl_out_of_memory ? "has no memory" : "failed", " to multiply ", p.m, " x ", p.k, " by ", p.k, " x ",
         p.n, ", operands of ", index{sizeof(float)} * (p.m * p.k + p.k * p.n + p.m * p.n), " bytes: ", e.what());
  }
}

}  // namespace dikkat::kernels

#else

#include "autograd/base/error.h"

namespace dikkat::kernels {

bool has_onednn() noexcept { return false; }
void gemm_onednn(const Gemm<float>&) { fail("gemm: oneDNN was not built in"); }

}  // namespace dikkat::kernels

#endif
