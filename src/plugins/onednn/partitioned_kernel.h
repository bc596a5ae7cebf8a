// A kernel that runs primitives of oneDNN, each on the thread that takes it.
#pragma once

#include <functional>
#include <vector>

#include "core/routine/routine.h"
#include "cpu/post_ops/post_ops.h"
#include "plugins/onednn/library.h"

namespace softneuro::onednn {

// One memory argument of a primitive: where its bytes are when the kernel runs.
struct Argument {
  enum class From { input, output, workspace, constant };

  int id = 0;  // DNNL_ARG_…
  From from = From::input;
  std::size_t index = 0;   // of the input, the output, or the kernel's constant
  std::size_t offset = 0;  // bytes from its begin
  dnnl::memory::desc desc;
};

// A part of the work, fixed when the kernel is made: one primitive on its part of the tensors.
struct Chunk {
  dnnl::primitive primitive;
  std::vector<Argument> arguments;
  // The elements of output 0, in the order of memory, that the chunk writes: `count` from `first`
  // on, and as many each `stride` further, `repeats` times. Post-ops that the primitive does not do
  // itself are applied to them.
  std::int64_t first = 0, count = 0, repeats = 1, stride = 0;
  // Puts right what the primitive has written from `first` on, before post-ops; may be empty.
  std::function<void(float* y)> repair;
};

// What a kernel is made of. Give each chunk its scratchpad with add_scratchpad().
struct PartitionedWork {
  std::vector<Chunk> chunks;
  std::vector<Tensor> constants;           // kept, and what Argument::From::constant means
  PostOpProgram tail;                      // what is left of the post-ops, …
  DataType tail_type = DataType::float32;  // … and output 0's type if there is anything left
  std::size_t workspace_bytes = 0;
  int in_place_input = -1;  // that all primitives read exactly where they write output 0

  // Books workspace for what `desc` says that its primitive needs besides its operands.
  void add_scratchpad(Chunk& chunk, const dnnl::primitive_desc_base& desc);
};

// Precondition: every chunk has its primitive and all of its arguments.
std::unique_ptr<Kernel> make_partitioned_kernel(PartitionedWork work);

// What every primitive of this plugin is made with: the kernel's own workspace for scratchpad.
dnnl::primitive_attr attributes_of(const dnnl::post_ops& post_ops);

}  // namespace softneuro::onednn
