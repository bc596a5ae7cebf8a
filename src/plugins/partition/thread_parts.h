// How a library's operator is divided for our threads: the parameter `split` of routines that wrap
// libraries. It names no number, so that a path which was tuned for some number of threads holds
// for any other.
#pragma once

#include <cstdint>
#include <string>

#include "core/graph/params.h"

namespace softneuro {

inline constexpr const char* kSplit = "split";
inline constexpr const char* kSplitThreads = "threads";  // one part for each thread of the net
inline constexpr const char* kSplitWhole = "whole";      // one part, where there are more threads

// Whether `params` ask for one part, whatever the number of threads. Files of version 0.1 before
// the parameter had words have the number of parts.
inline bool is_whole(const Params& params) {
  return params.text(kSplit) == kSplitWhole || params.integer(kSplit, 0) == 1;
}

// How many parts `params` ask for; 1 or more.
inline std::int64_t thread_parts(const Params& params, int threads) {
  return is_whole(params) ? 1 : threads;
}

// The same point of a parameter space as a net of `threads` threads lists it: there "whole" is no
// point of its own where there is one thread.
inline Params as_listed(Params params, int threads) {
  if (params.has(kSplit))
    params.set(kSplit, std::string(threads > 1 && is_whole(params) ? kSplitWhole : kSplitThreads));
  return params;
}

}  // namespace softneuro
