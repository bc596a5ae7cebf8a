#include "plugins/cuda/kernels/launched.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace softneuro::cuda {
namespace {

// The most blocks of kernels that stride over the grid: then threads take several elements.
constexpr std::int64_t kBlocksPerMultiprocessor = 32;
constexpr std::int64_t kMostBlocks = (std::int64_t{1} << 31) - 1;  // of a grid's first dimension

std::size_t size_of(const Argument& argument) {
  return argument.kind == Argument::Kind::bytes ? argument.bytes.size() : sizeof(void*);
}

std::size_t place_of(const Argument& argument, std::size_t end) {
  return (end + argument.alignment - 1) / argument.alignment * argument.alignment;
}

const void* address(const Argument& argument, const Context& context,
                    const PackedConstants& constants, std::size_t workspace,
                    Fault* fault) noexcept {
  const void* base = nullptr;
  switch (argument.kind) {
    case Argument::Kind::input:
      base = constants.data(context, argument.index);
      break;
    case Argument::Kind::output:
      base = context.output(argument.index).data;
      break;
    case Argument::Kind::workspace:
      base = context.workspace() + workspace;
      break;
    case Argument::Kind::fault:
      base = fault;
      break;
    case Argument::Kind::bytes:
      break;
  }
  return static_cast<const std::byte*>(base) + argument.offset;
}

}  // namespace

Result<Launched> Launched::create(CudaDevice& device, const Program& program) {
  SN_ASSIGN_OR_RETURN(Gpu* const gpu, device.gpu());
  SN_ASSIGN_OR_RETURN(const Nvrtc* const compiler, device.toolkit().nvrtc());
  Launched launched;
  for (const Launch& launch : program.launches) {
    if (launch.blocks == 0) continue;
    std::size_t bytes = 0;
    for (const Argument& argument : launch.arguments)
      bytes = place_of(argument, bytes) + size_of(argument);
    if (bytes > kMaxArgumentBytes) return unsupported("so many operands are not supported");
    if (launch.blocks > kMostBlocks && !launch.strides)
      return unsupported("so large tensors are not supported");
    SN_ASSIGN_OR_RETURN(const CUfunction kernel,
                        gpu->kernel(*compiler, launch.source, kKernelName));
    const bool reports = std::any_of(
        launch.arguments.begin(), launch.arguments.end(),
        [](const Argument& argument) { return argument.kind == Argument::Kind::fault; });
    const std::int64_t most =
        launch.strides ? kBlocksPerMultiprocessor * gpu->multiprocessors() : kMostBlocks;
    launched.steps_.push_back({kernel, launch.arguments,
                               static_cast<unsigned>(std::min(launch.blocks, most)), launch.threads,
                               reports});
  }
  return launched;
}

Status Launched::launch(Context& context, const PackedConstants& constants,
                        std::size_t workspace) const noexcept {
  auto& stream = static_cast<CudaStream&>(*context.stream());
  for (const Step& step : steps_) {
    alignas(8) std::byte argument[kMaxArgumentBytes];
    std::size_t end = 0;
    Fault* fault = nullptr;
    if (step.reports) {
      SN_ASSIGN_OR_RETURN(fault, stream.fault());
    }
    for (const Argument& member : step.arguments) {
      end = place_of(member, end);
      if (member.kind == Argument::Kind::bytes) {
        std::memcpy(argument + end, member.bytes.data(), member.bytes.size());
      } else {
        const void* const pointer = address(member, context, constants, workspace, fault);
        std::memcpy(argument + end, &pointer, sizeof(pointer));
      }
      end += size_of(member);
    }
    SN_RETURN_IF_ERROR(stream.launch(step.kernel, step.blocks, step.threads, argument));
  }
  return {};
}

}  // namespace softneuro::cuda
