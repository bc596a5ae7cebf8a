// Where CUDA's libraries are looked for, and by which names their functions.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "plugins/cuda/libraries/driver.h"
#include "plugins/cuda/libraries/libraries.h"
#include "plugins/cuda/libraries/nvrtc.h"
#include "plugins/cuda/libraries/shared_library.h"
#include "support/skip.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::cuda;
using namespace softneuro::test;

namespace {

// Sets a variable of the environment for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_.empty())
      unsetenv(name_);
    else
      setenv(name_, before_.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

// False where there is no compiler.
bool build_library(const std::string& file, const std::string& source) {
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  std::ofstream(file + ".c") << source;
  const std::string command = std::string("'") + SOFTNEURO_HOST_COMPILER +
                              "' -x c -w -shared -fPIC -Wl,-soname," +
                              std::filesystem::path(file).filename().string() + " '" + file +
                              ".c' -o '" + file + "' 2>/dev/null";
  return std::string(SOFTNEURO_HOST_COMPILER) != "" && std::system(command.c_str()) == 0;
}

std::string number_of(const SharedLibrary& library) {
  const auto number = reinterpret_cast<int (*)()>(library.symbol("number"));
  return number == nullptr ? "none" : std::to_string(number());
}

}  // namespace

TEST_CASE("cuda: the user's folder comes before what is loaded, and that before the toolkit") {
  const TemporaryFolder folder;
  const auto build = [&](const char* place, const char* number) {
    return build_library(folder.file(place),
                         std::string("int number() { return ") + number + "; }");
  };
  // No other test has libraries of these names.
  if (!build("toolkit/lib64/libsn_first.so", "1") || !build("toolkit/lib/libsn_second.so", "2") ||
      !build("user/libsn_first.so", "3"))
    SN_SKIP("there is no compiler for the host here");
  const Variable home("CUDA_HOME", folder.file("toolkit"));
  constexpr const char* kFirst[] = {"libsn_first.so"};
  constexpr const char* kSecond[] = {"libsn_none.so", "libsn_second.so"};
  {
    const Variable users("SOFTNEURO_CUDA_LIBRARIES", "/none:" + folder.file("user"));
    CHECK(
        number_of(SharedLibrary::open_file(folder.file("toolkit/lib64/libsn_first.so")).value()) ==
        "1");  // the process has one already
    const SharedLibrary first = SharedLibrary::open(kFirst).value();
    CHECK(number_of(first) == "3");
    CHECK(first.found_by() == "SOFTNEURO_CUDA_LIBRARIES");
    CHECK(first.folder() == std::filesystem::canonical(folder.file("user")).string());
    const SharedLibrary second = SharedLibrary::open(kSecond).value();
    CHECK(number_of(second) == "2");
    CHECK(second.found_by() == "CUDA_HOME");
  }
  const SharedLibrary again = SharedLibrary::open(kSecond).value();
  CHECK(number_of(again) == "2");
  CHECK(again.found_by() == "loaded by the process");
}

TEST_CASE("cuda: a library that is not found is an error that says where it was looked for") {
  const TemporaryFolder folder;
  std::ofstream(folder.file("libsn_broken.so")) << "no library";
  const Variable users("SOFTNEURO_CUDA_LIBRARIES", folder.path().string());
  const Variable home("CUDA_HOME", "/home/of/cuda");
  constexpr const char* kNames[] = {"libsn_broken.so", "libsn_absent.so"};
  const Status status = SharedLibrary::open(kNames).status();
  CHECK(status.code() == StatusCode::unsupported);
  for (const std::string& text :
       {std::string("libsn_broken.so or libsn_absent.so"), folder.path().string(),
        std::string("SOFTNEURO_CUDA_LIBRARIES"), std::string("/home/of/cuda/lib64"),
        std::string("/usr/local/cuda/lib64"), std::string("the dynamic loader"),
        folder.file("libsn_broken.so") + ": "})
    CHECK_THAT(status.message(), Catch::Contains(text));
}

TEST_CASE("cuda: NVIDIA's driver has all functions by the names that are asked for") {
  const auto nvrtc = load_nvrtc();  // from a toolkit, which has the driver's symbols, too
  if (!nvrtc.ok()) SN_SKIP(nvrtc.status().message());
  const auto folder = std::filesystem::path((*nvrtc)->path).parent_path();
  const auto stub = SharedLibrary::open_file((folder / "stubs" / "libcuda.so").string());
  if (!stub.ok()) SN_SKIP(stub.status().message());
  const auto driver = driver_of(*stub);
  INFO(driver.status().message());
  REQUIRE(driver.ok());
  CHECK(reinterpret_cast<void*>(driver->cuMemAlloc_v2) == stub->symbol("cuMemAlloc_v2"));
#if CUDA_VERSION >= 13000
  CHECK(reinterpret_cast<void*>(driver->cuEventElapsedTime) ==
        stub->symbol("cuEventElapsedTime_v2"));
#endif
}

#define SN_TEST_TEXT_OF(text) #text
#define SN_TEST_TEXT(name) SN_TEST_TEXT_OF(name)
#define SN_TEST_DEFINE(name) names.push_back(SN_TEST_TEXT(name));

TEST_CASE("cuda: an older driver's function serves where its arguments are the same, else none") {
  std::vector<std::string> names;
  SN_CUDA_DRIVER(SN_TEST_DEFINE)
  const TemporaryFolder folder;
  const auto driver_without = [&](const std::string& left_out, const std::string& instead) {
    std::string source;
    for (const std::string& name : names)
      source += "void " + (name == left_out ? instead : name) + "() {}\n";
    const std::string file = folder.file("lib" + left_out + ".so");
    return build_library(file, source) ? driver_of(SharedLibrary::open_file(file).value()).status()
                                       : Status(StatusCode::internal, "there is no compiler");
  };
  const Status older = driver_without("cuEventElapsedTime_v2", "cuEventElapsedTime");
  if (older.code() == StatusCode::internal) SN_SKIP(older.message());
  CHECK(older.ok());
  const Status other = driver_without("cuMemAlloc_v2", "cuMemAlloc");
  CHECK(other.code() == StatusCode::unsupported);
  CHECK_THAT(other.message(), Catch::Contains("has no cuMemAlloc_v2"));
}

#undef SN_TEST_DEFINE
#undef SN_TEST_TEXT
#undef SN_TEST_TEXT_OF

TEST_CASE("cuda: NVRTC's builtins are those of its own folder") {
  const auto nvrtc = load_nvrtc();
  if (!nvrtc.ok()) SN_SKIP(nvrtc.status().message());
  const std::string name = "libnvrtc-builtins.so." + (*nvrtc)->version();
  const std::filesystem::path folder = std::filesystem::path((*nvrtc)->path).parent_path();
  if (!std::filesystem::exists(folder / name)) SN_SKIP("they are elsewhere here");
  CHECK(loaded_folder(name.c_str()) == std::filesystem::canonical(folder).string());
}

TEST_CASE("cuda: each library has a file and the rule that found it, or a problem") {
  for (const PluginLibrary& library : libraries()) {
    INFO(library.name << ": " << library.problem);
    if (!library.problem.empty()) continue;
    CHECK(!library.version.empty());
    CHECK(std::filesystem::exists(library.path));
    CHECK(library.note.starts_with("by "));
  }
}
