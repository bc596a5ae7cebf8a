// SoftNeuro as a plugin sees it: what plugin.h calls the host, over Problem, Params and Context.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/routine/routine.h"
#include "softneuro/plugin.h"

namespace softneuro {

// The functions that plugins call. One table, as long as this library is loaded.
const sn_plugin_host& plugin_host() noexcept;

// A problem in the plugin's terms. Borrows `problem`.
struct PluginProblem : sn_plugin_problem {
  explicit PluginProblem(const Problem& problem) noexcept;
  const Problem* problem;
};

inline const sn_plugin_params* to_plugin(const Params& params) noexcept {
  return reinterpret_cast<const sn_plugin_params*>(&params);
}
inline sn_plugin_params* to_plugin(Params& params) noexcept {
  return reinterpret_cast<sn_plugin_params*>(&params);
}

// A run in the plugin's terms: shows the tensors of `context` in memory that the kernel booked.
class PluginContext : public sn_plugin_context {
 public:
  // Bytes that the tensors of a kernel with so many inputs and outputs need.
  static std::size_t bytes(std::size_t inputs, std::size_t outputs) noexcept;
  // `memory`: that many bytes for context's tensors, aligned to kTensorAlignment.
  PluginContext(Context& context, std::byte* memory) noexcept;

  ThreadPool& pool() const noexcept { return context_->pool(); }
  sn_plugin_status allocate(std::size_t index, const Shape& shape) const noexcept;
  // What allocate() failed with last; ok if it did not.
  const Status& failure() const noexcept { return failure_; }

 private:
  Context* context_;
  sn_plugin_tensor* output_tensors_;
  mutable Status failure_;
};

// The line that a plugin writes for people.
class PluginMessage {
 public:
  char* data() noexcept { return text_; }
  bool empty() const noexcept { return text_[0] == '\0'; }
  static constexpr std::size_t size() noexcept { return kSize; }
  // What was written: ends within the buffer whatever the plugin did; control characters, which
  // could forge lines of a log, are spaces.
  std::string text() const;

 private:
  static constexpr std::size_t kSize = 512;
  char text_[kSize] = {};
};

// The Status for what a function of a plugin returned and wrote.
Status plugin_status(sn_plugin_status code, const PluginMessage& message);

}  // namespace softneuro
