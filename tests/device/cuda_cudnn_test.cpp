// cuDNN is opened as a whole, from one folder. It needs no GPU for that.
#if defined(SOFTNEURO_HAS_CUDNN)
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "plugins/cuda/libraries/cudnn.h"
#include "plugins/cuda/libraries/shared_library.h"
#include "support/skip.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::cuda;
using namespace softneuro::test;

TEST_CASE("cudnn: all parts are opened, from the folder of the library", "[slow]") {
  const auto cudnn = load_cudnn();
  if (!cudnn.ok()) SN_SKIP(cudnn.status().message());
  CHECK((*cudnn)->version().starts_with("9."));
  const std::string folder =
      std::filesystem::canonical(std::filesystem::path((*cudnn)->path).parent_path()).string();
  for (const std::string part : {"graph", "ops", "heuristic"}) {
    CHECK_THAT((*cudnn)->parts, Catch::Contains(part));
    CHECK(loaded_folder(("libcudnn_" + part + ".so.9").c_str()) == folder);
  }
}

TEST_CASE("cudnn: parts of two folders are an error that names both", "[slow]") {
  const auto cudnn = load_cudnn();
  if (!cudnn.ok()) SN_SKIP(cudnn.status().message());
  const TemporaryFolder folder;
  const std::string own = std::filesystem::canonical(folder.path()).string();
  const std::string command = std::string("echo | '") + SOFTNEURO_HOST_COMPILER +
                              "' -x c - -shared -fPIC -Wl,-soname,libcudnn_graph.so.9 -o '" + own +
                              "/libcudnn_graph.so.9' 2>/dev/null";
  if (std::system(command.c_str()) != 0) SN_SKIP("there is no compiler for the host here");
  const Status mixed = open_cudnn_parts(own).status();
  CHECK(mixed.code() == StatusCode::unsupported);
  CHECK_THAT(mixed.message(), Catch::Contains(own + ", libcudnn_graph.so.9 in "));
  CHECK_THAT(mixed.message(), Catch::Contains(loaded_folder("libcudnn_graph.so.9")));
}

TEST_CASE("cudnn: descriptors can be made, and errors say what was wrong", "[slow]") {
  const auto loaded = load_cudnn();
  if (!loaded.ok()) SN_SKIP(loaded.status().message());
  const Cudnn& cudnn = **loaded;
  cudnnBackendDescriptor_t tensor = nullptr;
  REQUIRE(cudnn
              .check(cudnn.cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &tensor),
                     "cudnnBackendCreateDescriptor")
              .ok());
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  CHECK(cudnn.cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
                                       &type) == CUDNN_STATUS_SUCCESS);
  const Status unfinished = cudnn.check(cudnn.cudnnBackendFinalize(tensor), "cudnnBackendFinalize");
  CHECK_FALSE(unfinished.ok());
  CHECK_THAT(unfinished.message(), Catch::Contains("cudnnBackendFinalize: CUDNN_STATUS_"));
  cudnn.cudnnBackendDestroyDescriptor(tensor);
  CHECK(cudnn.check(CUDNN_STATUS_NOT_SUPPORTED, "a call").code() == StatusCode::unsupported);
}
#endif
