// Skipping a test whose models, device or program are not on this machine.
#pragma once

#include <string>

namespace softneuro::test {

// Notes that the running test case was skipped, prints the reason, and makes the program return
// 77 if nothing else ran. Prefer SN_SKIP, which also leaves the test.
void note_skip(const std::string& reason);

// How many test cases were skipped since the program started.
int skipped_tests();

// Folder of the checkout, of the build, and of the models and suites beside the checkout ("" where
// there is none). ctest sets them; a program run by hand falls back to the current folder.
std::string source_dir();
std::string build_dir();
std::string shared_dir();

}  // namespace softneuro::test

#define SN_SKIP(reason)                   \
  do {                                    \
    ::softneuro::test::note_skip(reason); \
    return;                               \
  } while (false)
