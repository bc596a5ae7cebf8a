// Tuning through the C API: the same work, errors as statuses, cancelling by the callback.
#include "softneuro/c_tune.h"

#include <catch2/catch.hpp>

#include "net/net_access.h"
#include "small_net.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

struct CNet {
  sn_net* net = nullptr;
  explicit CNet(const TemporaryFolder& folder) {
    const std::string file = folder.file("small.dnn");
    REQUIRE(NetAccess::from_graph(small_graph(), {}).value().save(file).ok());
    REQUIRE(sn_net_load(file.c_str(), nullptr, &net) == SN_OK);
  }
  ~CNet() { sn_net_free(net); }
};

}  // namespace

TEST_CASE("C API: tunes, reports, and saves what C++ loads") {
  const TemporaryFolder folder;
  const CNet c(folder);
  sn_tune_options options{};
  options.struct_size = sizeof options;
  const std::string cache = folder.file("cache");
  options.cache = cache.c_str();
  sn_tune_report report{};
  report.struct_size = sizeof report;
  REQUIRE(sn_net_tune(c.net, &options, &report) == SN_OK);
  CHECK(report.measured > 0);
  CHECK(report.tuned_us > 0);
  REQUIRE(sn_net_save(c.net, folder.file("tuned.dnn").c_str()) == SN_OK);
  CHECK(Net::load(folder.file("tuned.dnn")).value().tuned_paths().size() == 1);
}

TEST_CASE("C API: wrong options and cancelling are statuses with a message") {
  const TemporaryFolder folder;
  const CNet c(folder);
  sn_tune_options options{};
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_INVALID_ARGUMENT);  // struct_size
  options.struct_size = sizeof options;
  options.cache = "";
  CHECK(sn_net_tune(nullptr, &options, nullptr) == SN_INVALID_ARGUMENT);
  options.time_limit = -1;
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_INVALID_ARGUMENT);
  options.time_limit = 0;
  options.sample_count = 1;
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_INVALID_ARGUMENT);
  options.sample_count = 0;
  sn_shape shapes[2] = {SN_SHAPE_INIT, SN_SHAPE_INIT};
  for (sn_shape& shape : shapes) {
    shape.name = "image";
    shape.rank = 4;
    for (int i = 0; i < 4; ++i) shape.dims[i] = i == 0 ? 1 : i == 1 ? 3 : 12;
  }
  options.shapes = shapes;
  options.shape_count = 2;  // which of them is meant?
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_INVALID_ARGUMENT);
  options.shape_count = 0;
  options.progress = [](void*, const char*, size_t, size_t, const char*, const char*) {
    return std::int32_t{1};
  };
  CHECK(sn_net_tune(c.net, &options, nullptr) == SN_CANCELLED);
  CHECK(std::string(sn_last_error()).find("cancelled") != std::string::npos);
}
