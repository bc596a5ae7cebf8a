// Names of machines that this one is not.
#include "core/base/machine.h"

#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "core/base/physical_cores.h"

using namespace softneuro;

namespace {

constexpr const char* kEpyc =
    "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n"
    "model name\t: AMD EPYC\nstepping\t: 1\ncpu cores\t: 2\n\n"
    "processor\t: 1\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n";

constexpr const char* kBigLittle =
    "processor\t: 0\nFeatures\t: fp asimd evtstrm aes asimdhp asimddp\n"
    "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd05\n"
    "CPU revision\t: 0\n\n"
    "processor\t: 1\nFeatures\t: fp asimd evtstrm aes asimdhp asimddp\n"
    "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd05\n"
    "CPU revision\t: 0\n\n"
    "processor\t: 2\nFeatures\t: fp asimd evtstrm aes asimdhp asimddp\n"
    "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0a\n"
    "CPU revision\t: 1\n";

}  // namespace

TEST_CASE("machine: an x86-64 processor is told apart by vendor, family, model and stepping") {
  CHECK(describe_processor("x86-64", kEpyc, {}) == "AMD EPYC (AuthenticAMD 25.1.1)");
  std::string newer = kEpyc;
  newer.replace(newer.find("25"), 2, "26");
  CHECK(describe_processor("x86-64", newer, {}) == "AMD EPYC (AuthenticAMD 26.1.1)");
  CHECK(describe_processor("x86-64", "model name : a, b|c\n", {}) == "a  b c");
  CHECK(describe_processor("x86-64", "", {}) == "x86-64");
  CHECK(describe_processor("x86-64", kBigLittle, {}) == "x86-64");
}

TEST_CASE("machine: an aarch64 processor is told apart by the kinds of cores that may be used") {
  const auto described = [](std::vector<int> processors) {
    return describe_processor("aarch64", kBigLittle, processors);
  };
  CHECK(described({0, 1, 2}) == "aarch64 (0x41-0xd05-r1p0 0x41-0xd0a-r3p1)");
  CHECK(described({0, 1}) == "aarch64 (0x41-0xd05-r1p0)");
  CHECK(described({2}) == "aarch64 (0x41-0xd0a-r3p1)");
  CHECK(describe_processor("aarch64", kEpyc, std::vector<int>{0, 1}) == "aarch64");
}

TEST_CASE("machine: a processor's data caches are listed by level, instruction caches are not") {
  const std::string folder = "/sys/devices/system/cpu/cpu4/cache/index";
  const std::map<std::string, std::string> files = {
      {folder + "0/size", "32K\n"},   {folder + "0/type", "Data\n"},
      {folder + "1/size", "64K\n"},   {folder + "1/type", "Instruction\n"},
      {folder + "2/size", "1024K\n"}, {folder + "2/type", "Unified\n"},
  };
  const auto read = [&](const char* path) {
    const auto found = files.find(path);
    return found == files.end() ? std::string() : found->second;
  };
  CHECK(describe_caches(4, read) == "32K 1024K");
  CHECK(describe_caches(0, read).empty());
}

TEST_CASE("machine: the number of cores is part of the name where more threads share them") {
  CHECK(describe_sharing(1, 2).empty());
  CHECK(describe_sharing(2, 2).empty());
  CHECK(describe_sharing(8, 64).empty());
  CHECK(describe_sharing(64, 2) == ", 2 cores");
  CHECK(describe_sharing(2, 1) == ", 1 core");
  const int cores = physical_cores();
  CHECK(machine_name(1) == machine_name());
  CHECK(machine_name(cores) == machine_name());
  CHECK(machine_name(cores + 1) == machine_name() + describe_sharing(cores + 1, cores));
}

TEST_CASE("machine: its name tells the instructions that float kernels are written in") {
  const char* const intel = "Intel(R) Xeon(R) Processor (GenuineIntel 6.167.1)";
  const auto of = [&](const std::string& rest) { return vector_instructions(intel + rest); };
  CHECK(of(", avx2 avx512 avx_vnni, 48K 2048K") == "avx512");
  CHECK(of(", avx2 avx512") == "avx512");
  CHECK(of(", avx2, 48K 2048K") == "avx2");
  CHECK(of(", avx2") == "avx2");
  CHECK(of(", avx2 avx512_vnni_alone") == "avx2");
  CHECK(of(", baseline, 48K") == "baseline");
  CHECK(vector_instructions("aarch64 (0x41-0xd05-r1p0), dotprod") == "aarch64");
  CHECK(vector_instructions("another machine") == "baseline");
}

TEST_CASE("machine: this one has a name without the separators of files") {
  CHECK(!machine_name().empty());
  CHECK(machine_name().find_first_of("\t|\n") == std::string::npos);
}
