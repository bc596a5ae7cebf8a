// Puts a kernel together: its source, and the arguments that the source reads.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/routine/problem.h"
#include "plugins/cuda/generate/program.h"

namespace softneuro::cuda {

// Shapes should be arguments, not part of the text: sources are compiled once for each text.
class KernelSource {
 public:
  // `elements`: how many an Index must be able to count.
  explicit KernelSource(std::int64_t elements);

  // Members of the argument. Each gives the expression that reads it in the body; pointers are to
  // stored types (prelude.h). `offset` in bytes.
  std::string input(const Problem& problem, std::size_t i, std::int64_t offset = 0);
  std::string output(const Problem& problem, std::size_t i, std::int64_t offset = 0);
  std::string workspace(const char* stored_type, std::int64_t offset);
  std::string fault();                      // a Fault*, for report()
  std::string integer(std::int64_t value);  // long long
  std::string index(std::int64_t value);    // Index
  std::string real(float value);
  std::string real64(double value);        // double
  std::string divisor(std::int64_t size);  // for quotient()
  // For at(): row-major over `dims`; an element stands at Σ index · stride. Sizes below 2^31 where
  // an Index is narrow. Equal walks are one member.
  std::string walk(std::span<const std::int64_t> dims, std::span<const std::int64_t> strides);
  // Text in front of the kernel; the same text twice is there once.
  void add_function(const std::string& text);

  // With `body` as the kernel's. __launch_bounds__ are the threads.
  Launch launch(const std::string& body, std::int64_t blocks, unsigned threads) const;
  // With `body` done for each Index i below `count`, in any order, each once.
  Launch launch_elements(const std::string& body, std::int64_t count) const;

 private:
  std::string add(const std::string& type, Argument argument);
  std::string add_bytes(const std::string& type, std::string bytes, std::size_t alignment);

  bool is_wide_;
  std::string members_;
  std::string functions_;
  std::vector<Argument> arguments_;
  std::vector<bool> is_walk_;  // by argument
};

}  // namespace softneuro::cuda
