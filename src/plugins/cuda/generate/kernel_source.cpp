#include "plugins/cuda/generate/kernel_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "plugins/cuda/generate/prelude.h"
#include "plugins/cuda/generate/strides.h"

namespace softneuro::cuda {
namespace {

constexpr std::int64_t kMostNarrow = std::int64_t{1} << 31;  // elements that 32 bits count
constexpr unsigned kThreads = 256;  // of a block: several blocks fit a multiprocessor of any GPU

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// struct Size of the prelude. Narrow: i / size = (high half of i · multiplier + i) >> shift
// (Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994).
void append_size(std::string& bytes, std::int64_t size, bool is_wide) {
  size = std::max<std::int64_t>(size, 1);  // of an empty tensor: nothing is walked
  if (is_wide) return append(bytes, size);
  const auto narrow = static_cast<std::uint32_t>(size);
  const auto shift = static_cast<std::uint32_t>(std::bit_width(narrow - 1));  // ⌈log2 size⌉
  const std::uint64_t power = std::uint64_t{1} << shift;
  append(bytes, narrow);
  append(bytes, static_cast<std::uint32_t>(((power - narrow) << 32) / narrow + 1));
  append(bytes, shift);
}

const char* stored_type_of(const TensorSpec& spec) {
  return stored_type(spec.type, spec.quantization && spec.quantization->is_signed);
}

}  // namespace

KernelSource::KernelSource(std::int64_t elements) : is_wide_(elements >= kMostNarrow) {}

std::string KernelSource::add(const std::string& type, Argument argument) {
  const std::string name = fmt::format("a{}", arguments_.size());
  members_ += fmt::format("  {} {};\n", type, name);
  arguments_.push_back(std::move(argument));
  is_walk_.push_back(false);
  return "args." + name;
}

std::string KernelSource::add_bytes(const std::string& type, std::string bytes,
                                    std::size_t alignment) {
  Argument argument;
  argument.bytes = std::move(bytes);
  argument.alignment = alignment;
  return add(type, std::move(argument));
}

std::string KernelSource::input(const Problem& problem, std::size_t i, std::int64_t offset) {
  return add(fmt::format("const {}*", stored_type_of(problem.inputs[i])),
             {Argument::Kind::input, i, offset, {}});
}

std::string KernelSource::output(const Problem& problem, std::size_t i, std::int64_t offset) {
  return add(fmt::format("{}*", stored_type_of(problem.outputs[i])),
             {Argument::Kind::output, i, offset, {}});
}

std::string KernelSource::workspace(const char* type, std::int64_t offset) {
  return add(fmt::format("{}*", type), {Argument::Kind::workspace, 0, offset, {}});
}

std::string KernelSource::fault() {
  return add("Fault*", {Argument::Kind::fault, 0, 0, {}});
}

std::string KernelSource::integer(std::int64_t value) {
  std::string bytes;
  append(bytes, value);
  return add_bytes("long long", std::move(bytes), 8);
}

std::string KernelSource::index(std::int64_t value) {
  if (is_wide_) return "(Index)" + integer(value);
  std::string bytes;
  append(bytes, static_cast<std::uint32_t>(value));
  return add_bytes("Index", std::move(bytes), 4);
}

std::string KernelSource::real64(double value) {
  std::string bytes;
  append(bytes, value);
  return add_bytes("double", std::move(bytes), 8);
}

std::string KernelSource::real(float value) {
  std::string bytes;
  append(bytes, value);
  return add_bytes("float", std::move(bytes), 4);
}

std::string KernelSource::divisor(std::int64_t size) {
  std::string bytes;
  append_size(bytes, size, is_wide_);
  return add_bytes("Size", std::move(bytes), is_wide_ ? 8 : 4);
}

std::string KernelSource::walk(std::span<const std::int64_t> dims,
                               std::span<const std::int64_t> strides) {
  const Steps steps = joined({{dims.begin(), dims.end()}, {strides.begin(), strides.end()}});
  std::string bytes;
  for (const std::int64_t size : steps.sizes) append_size(bytes, size, is_wide_);
  bytes.resize((bytes.size() + 7) / 8 * 8);
  for (const std::int64_t stride : steps.strides) append(bytes, stride);
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (is_walk_[i] && arguments_[i].bytes == bytes) return fmt::format("args.a{}", i);
  std::string name = add_bytes(fmt::format("Walk<{}>", steps.sizes.size()), std::move(bytes), 8);
  is_walk_.back() = true;
  return name;
}

void KernelSource::add_function(const std::string& text) {
  if (functions_.find(text) == std::string::npos) functions_ += text;
}

Launch KernelSource::launch(const std::string& body, std::int64_t blocks, unsigned threads) const {
  Launch launch;
  launch.source = prelude(is_wide_) + functions_ + "struct Arguments {\n" + members_ + "};\n" +
                  fmt::format(
                      "extern \"C\" __global__ void __launch_bounds__({}) {}(const Arguments "
                      "args) {{\n",
                      threads, kKernelName) +
                  body + "}\n";
  launch.arguments = arguments_;
  launch.blocks = blocks;
  launch.threads = threads;
  return launch;
}

Launch KernelSource::launch_elements(const std::string& body, std::int64_t count) const {
  KernelSource source = *this;
  const std::string end = source.index(count);
  Launch launch = source.launch(
      fmt::format(
          "  const Index step = (Index)gridDim.x * blockDim.x;\n"
          "  for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < {}; i += step) "
          "{{\n{}  }}\n",
          end, body),
      (count + kThreads - 1) / kThreads, kThreads);
  launch.strides = true;
  return launch;
}

}  // namespace softneuro::cuda
