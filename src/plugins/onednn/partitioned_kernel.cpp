#include "plugins/onednn/partitioned_kernel.h"

#include <algorithm>
#include <atomic>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "cpu/simd/float_span.h"

namespace softneuro::onednn {
namespace {

constexpr std::size_t kScratchpadAlignment = 128;  // two cache lines: chunks run side by side

// Of the output the library looks at more than the address: it keeps the padding of blocked layouts
// zero. So it does of numbers, whose types it checks. Other tensors are bytes to it, so that
// nothing is ever written to them.
dnnl::memory::desc seen_desc(const Argument& argument) {
  if (argument.from == Argument::From::output || argument.id == kFactorsArgument ||
      argument.id == kZeroPointArgument)
    return argument.desc;
  return {{static_cast<dnnl::memory::dim>(argument.desc.get_size())},
          dnnl::memory::data_type::u8,
          dnnl::memory::format_tag::a};
}

// Memory objects bind addresses: each session has its own.
class ChunkState final : public KernelState {
 public:
  struct Bound {
    dnnl::stream stream;
    std::vector<dnnl::memory> memory;
    std::vector<const void*> address;
    std::vector<dnnl_exec_arg_t> arguments;
  };

  explicit ChunkState(const std::vector<Chunk>& chunks) {
    for (const Chunk& chunk : chunks) {
      Bound& bound = chunks_.emplace_back();
      bound.stream = dnnl::stream(engine());
      for (const Argument& argument : chunk.arguments) {
        bound.memory.push_back(
            dnnl::memory(seen_desc(argument), engine(), static_cast<void*>(DNNL_MEMORY_NONE)));
        bound.address.push_back(nullptr);
        bound.arguments.push_back({argument.id, bound.memory.back().get()});
      }
    }
  }

  Bound& chunk(std::size_t i) noexcept { return chunks_[i]; }

 private:
  std::vector<Bound> chunks_;
};

class PartitionedKernel final : public Kernel {
 public:
  explicit PartitionedKernel(PartitionedWork work) : work_(std::move(work)) {}

  std::size_t workspace_bytes() const noexcept override { return work_.workspace_bytes; }
  int in_place_input() const noexcept override { return work_.in_place_input; }

  Result<std::unique_ptr<KernelState>> make_state() const override {
    return guarded([&]() -> Result<std::unique_ptr<KernelState>> {
      return std::unique_ptr<KernelState>(std::make_unique<ChunkState>(work_.chunks));
    });
  }

  Status run(Context& context) const noexcept override {
    auto* const state = static_cast<ChunkState*>(context.state());
    if (state == nullptr) return internal_error("oneDNN: run() without the kernel's state");
    std::atomic<int> failure{dnnl_success};
    parallel_for(
        context.pool(), static_cast<std::int64_t>(work_.chunks.size()), [&](std::int64_t i) {
          const auto index = static_cast<std::size_t>(i);
          const dnnl_status_t status = run_chunk(context, work_.chunks[index], state->chunk(index));
          if (status != dnnl_success) failure = status;
        });
    if (failure != dnnl_success)
      return status_of(static_cast<dnnl_status_t>(failure.load()), "running a primitive");
    return {};
  }

 private:
  const void* base_of(const Context& context, const Argument& argument) const noexcept {
    switch (argument.from) {
      case Argument::From::input:
        return context.input(argument.index).data;
      case Argument::From::output:
        return context.output(argument.index).data;
      case Argument::From::workspace:
        return context.workspace();
      case Argument::From::constant:
        return work_.constants[argument.index].data();
    }
    return nullptr;
  }

  dnnl_status_t run_chunk(Context& context, const Chunk& chunk,
                          ChunkState::Bound& bound) const noexcept {
    const OneThread one;
    // The library takes a few small nodes from the heap for each execution.
    try {
      for (std::size_t a = 0; a < chunk.arguments.size(); ++a) {
        const Argument& argument = chunk.arguments[a];
        const void* const address =
            static_cast<const std::byte*>(base_of(context, argument)) + argument.offset;
        if (address == bound.address[a]) continue;
        const dnnl_status_t status =
            dnnl_memory_set_data_handle(bound.arguments[a].memory, const_cast<void*>(address));
        if (status != dnnl_success) return status;
        bound.address[a] = address;
      }
      const dnnl_status_t status =
          dnnl_primitive_execute(chunk.primitive.get(), bound.stream.get(),
                                 static_cast<int>(bound.arguments.size()), bound.arguments.data());
      if (status != dnnl_success) return status;
    } catch (...) {
      return dnnl_out_of_memory;
    }
    if (chunk.repair) chunk.repair(context.output(0).as_mutable<float>() + chunk.first);
    apply_tail(context, chunk);
    return dnnl_success;
  }

  void apply_tail(Context& context, const Chunk& chunk) const noexcept {
    if (work_.tail.empty()) return;
    // Tiles that stay in the first cache, of types that are converted.
    constexpr std::int64_t kTile = 2048;
    float buffer[kTile];
    const bool in_place = work_.tail_type == DataType::float32;
    for (std::int64_t r = 0; r < chunk.repeats; ++r)
      for (std::int64_t done = 0; done < chunk.count;) {
        const std::int64_t at = chunk.first + r * chunk.stride + done;
        const std::int64_t count = in_place ? chunk.count : std::min(kTile, chunk.count - done);
        apply_tail_to(context, at, count, buffer);
        done += count;
      }
  }

  void apply_tail_to(Context& context, std::int64_t at, std::int64_t count,
                     float* buffer) const noexcept {
    void* const y = context.output(0).as_mutable<std::byte>();
    float* const results = target_floats(y, work_.tail_type, at, buffer);
    read_floats(y, work_.tail_type, at, count, buffer);
    work_.tail.apply(context.inputs(), results, at, count);
    write_floats(y, work_.tail_type, at, count, results);
  }

  PartitionedWork work_;
};

}  // namespace

void PartitionedWork::add_scratchpad(Chunk& chunk, const dnnl::primitive_desc_base& desc) {
  const dnnl::memory::desc scratchpad = desc.query_md(dnnl::query::scratchpad_md);
  const std::size_t size = scratchpad.get_size();
  if (size == 0) return;
  chunk.arguments.push_back(
      {DNNL_ARG_SCRATCHPAD, Argument::From::workspace, 0, workspace_bytes, scratchpad});
  workspace_bytes +=
      (size + kScratchpadAlignment - 1) / kScratchpadAlignment * kScratchpadAlignment;
}

std::unique_ptr<Kernel> make_partitioned_kernel(PartitionedWork work) {
  return std::make_unique<PartitionedKernel>(std::move(work));
}

dnnl::primitive_attr attributes_of(const dnnl::post_ops& post_ops) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_post_ops(post_ops);
  return attributes;
}

}  // namespace softneuro::onednn
