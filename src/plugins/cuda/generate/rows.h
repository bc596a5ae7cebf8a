// Rows: elements of a tensor that become one state, and what is made of it. By one thread, one warp
// or one block for each row, or in parts by several blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/routine/problem.h"
#include "plugins/cuda/generate/kernel_source.h"

namespace softneuro::cuda {

// Dimensions of one tensor, outermost first, with their strides in its memory.
struct Walked {
  std::vector<std::int64_t> dims, strides;
  void add(std::int64_t dim, std::int64_t stride);
  std::int64_t elements() const;
};

// Input 0 as rows: a row is what `folded` walks, the rows are what `kept` walks.
struct Rows {
  Walked kept, folded;
};
// Bit d of `axes`: dimension d is folded. Rows are in the order of their memory.
Rows rows_of(const TensorSpec& x, std::uint32_t axes);

// How elements become a state, as CUDA C++. A state of no elements, clear(), may be merged
// anywhere.
struct Fold {
  struct Member {
    const char* type;  // of at most 8 bytes that can be shuffled: "float", "double", "long long"
    const char* name;
  };
  std::vector<Member> members;
  // Statements over the members.
  std::string clear;  // `first`: element 0 of the row, a Number (0 of an empty row)
  std::string add;    // `x`, a Number; `k`, a long long: its place in the row
  std::string merge;  // `b`: a State of elements none of which is in this one
};

// Text that reads arguments of the kernel that it is put into.
using Text = std::function<Result<std::string>(KernelSource&)>;

// What is made of a row's State `s`; `n` is the number of its elements, an Index.
struct RowResult {
  // Statements. A reduction: they declare `y`, which is the row's element of output 0 (then come
  // the post-ops, if it is a float). Else what all elements of the row read.
  Text row;
  // Not a reduction: statements that declare `float y` of the `float x` that is element i, and so
  // element i of output 0.
  Text element;
  // Statements, done once for each row r.
  Text once;
};

// Output 0 has one element for each row, in their order.
Result<Program> reduce_rows(const Problem& problem, const Rows& rows, const Fold& fold,
                            const RowResult& result);
// Output 0 has the elements of input 0, where they are.
Result<Program> map_rows(const Problem& problem, const Rows& rows, const Fold& fold,
                         const RowResult& result);

}  // namespace softneuro::cuda
