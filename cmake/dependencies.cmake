# SPDX-License-Identifier: Apache-2.0
# Everything we link against, all from the distribution (scripts/install_dependencies.sh has the package names).
# Targets to use in DEPS: simdjson::simdjson yaml::yaml fmt::fmt spdlog::spdlog TBB::tbb Threads::Threads ZLIB::ZLIB
# zstd::zstd nlohmann_json::nlohmann_json CLI11::CLI11 xxhash::xxhash utf8proc::utf8proc tsl::robin_map hwy::hwy
# Eigen3::Eigen valijson; in tests also GTest::gtest GTest::gmock rapidcheck rapidcheck_gtest; in bench benchmark::benchmark.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(simdjson REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(TBB REQUIRED)
if(BERTH_SANITIZE MATCHES "thread" AND NOT TBB_DIR MATCHES "tsan-tbb")
  message(WARNING "This oneTBB is built without ThreadSanitizer, which will call its loops races: run "
                  "scripts/build_instrumented_tbb.sh first, or 'make tsan'")
endif()
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tsl-robin-map REQUIRED)
find_package(HWY REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)

# berth_use_pkg_config(<target namespace> <pkg-config name>): an imported target <namespace>::<namespace>.
function(berth_use_pkg_config name module)
  pkg_check_modules(${name} REQUIRED IMPORTED_TARGET GLOBAL ${module})
  add_library(${name}::${name} ALIAS PkgConfig::${name})
endfunction()
berth_use_pkg_config(yaml yaml-0.1)
berth_use_pkg_config(zstd libzstd)
berth_use_pkg_config(xxhash libxxhash)
berth_use_pkg_config(utf8proc libutf8proc)

if(BERTH_TESTS OR BERTH_FUZZ)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
  find_package(valijson REQUIRED)
  include(GoogleTest)
endif()
if(BERTH_BENCH)
  find_package(benchmark REQUIRED)
endif()
