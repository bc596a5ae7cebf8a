// transpose cpu/naive: walks the output in order and fetches each element of the input.
#include "routines/naive_routine.h"
#include "routines/transpose/axes.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_transpose(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const StridedCopy copy, transpose_copy(problem));
  return make_copy_kernel(copy);
}

}  // namespace

Status register_routine_transpose_cpu_naive(Registry& registry) {
  return add_naive(registry, {"transpose"}, make_naive_transpose);
}

}  // namespace softneuro
