// What tuning has measured on this machine so far: the entries of the profile cache.
#pragma once

#include <string>

namespace softneuro::tool {

// Lists the entries for this machine and `threads` threads (0: one per physical core), as a table
// or JSON. `folder` empty: the default one. `quiet`: without warnings. Returns the exit status.
int list_cached_profiles(const std::string& folder, int threads, bool json, bool quiet);

}  // namespace softneuro::tool
