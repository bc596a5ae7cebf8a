// Sums in float32 to results in bfloat16.
#include "cpu/gemm/epilogue_store_loop.h"

namespace softneuro::avx512bf16 {

void epilogue_store_bfloat(const EpilogueStore<BFloat16>& s) noexcept {
  store_sums(s);
}

}  // namespace softneuro::avx512bf16
