# SPDX-License-Identifier: Apache-2.0
# Everything Berth links against, all from the distribution (scripts/install_dependencies.sh has the package names).
# Targets to use in DEPS: simdjson::simdjson fmt::fmt TBB::tbb mimalloc Threads::Threads ZLIB::ZLIB CLI11::CLI11 tsl::robin_map
# berth::eigen berth::yaml berth::zstd berth::xxhash berth::sqlite berth::utf8proc berth::prometheus berth::curl berth::openssl
# berth::httplib spdlog::spdlog; in tests also
# nlohmann_json::nlohmann_json GTest::gtest rapidcheck rapidcheck_gtest valijson; in bench benchmark::benchmark.
# scripts/check_dependencies.py finds a package here that no source includes.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(simdjson REQUIRED)
find_package(fmt REQUIRED)
find_package(TBB REQUIRED)
find_package(mimalloc REQUIRED)  # for the program alone: no library imposes an allocator on the program that loads it
if(BERTH_SANITIZE MATCHES "thread" AND NOT TBB_DIR MATCHES "tsan-tbb")
  message(WARNING "This oneTBB is built without ThreadSanitizer, which will call its loops races: run "
                  "scripts/build_instrumented_tbb.sh first, or 'make tsan'")
endif()
find_package(ZLIB REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tsl-robin-map REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
add_library(berth_eigen INTERFACE)
add_library(berth::eigen ALIAS berth_eigen)
target_link_libraries(berth_eigen INTERFACE Eigen3::Eigen)
target_compile_definitions(berth_eigen INTERFACE EIGEN_MPL2_ONLY)  # some of Eigen's modules are LGPL

# berth_use_pkg_config(<name> <pkg-config name>): the imported target berth::<name>, known in Berth's folders only, as those
# of find_package() are.
function(berth_use_pkg_config name module)
  pkg_check_modules(berth_${name} REQUIRED IMPORTED_TARGET ${module})
  add_library(berth::${name} ALIAS PkgConfig::berth_${name})
endfunction()
berth_use_pkg_config(yaml yaml-0.1)
berth_use_pkg_config(zstd libzstd)
berth_use_pkg_config(xxhash libxxhash)
berth_use_pkg_config(sqlite sqlite3)
berth_use_pkg_config(utf8proc libutf8proc)
berth_use_pkg_config(curl libcurl)
berth_use_pkg_config(openssl openssl)
berth_use_pkg_config(httplib cpp-httplib)
find_package(spdlog REQUIRED)
berth_use_pkg_config(prometheus prometheus-cpp-core)  # its CMake package would ask for an HTTP server and client

if(BERTH_TESTS OR BERTH_FUZZ)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
  find_package(nlohmann_json REQUIRED)
  find_package(valijson REQUIRED)
  include(GoogleTest)
endif()
if(BERTH_BENCH)
  find_package(benchmark REQUIRED)
endif()
