# SPDX-License-Identifier: Apache-2.0
# Helper functions that keep a library, a test, a benchmark or a fuzz target to one call, and the flags they share.

set(berth_pages "${PROJECT_BINARY_DIR}/pages")  # man page and completions, written by the program

# As a subproject Berth takes optimisation level, compiler launcher and linker from the project around it. These variables
# and the flags of the presets are for Berth's own builds.
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(BERTH_CCACHE ccache)
  if(BERTH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER "${BERTH_CCACHE}")
    set(CMAKE_CXX_COMPILER_LAUNCHER "${BERTH_CCACHE}")
  endif()
endif()

# Flags travel with targets (berth_flags), never with directories, so that nothing leaks into what we do not own.
add_library(berth_flags INTERFACE)
add_library(berth::flags ALIAS berth_flags)
set(berth_host_language "$<COMPILE_LANGUAGE:C,CXX>")
target_compile_options(berth_flags INTERFACE
  # A fused multiply-add rounds once where Go rounds twice: scores would differ from kube-scheduler's.
  "$<${berth_host_language}:-Wall;-Wextra;-Wshadow;-Wconversion;-Wsign-conversion;-ffp-contract=off>"
  # g++ 12 sees overlapping copies in std::string's own assignment (GCC bug 105651); clang 19 objects to the temporary
  # buffer inside libstdc++ 12's std::stable_sort.
  "$<$<CXX_COMPILER_ID:GNU>:$<${berth_host_language}:-Wno-restrict>>"
  "$<$<CXX_COMPILER_ID:Clang>:$<${berth_host_language}:-Wno-deprecated-declarations>>"
  "$<$<AND:${berth_host_language},$<BOOL:${BERTH_WERROR}>>:-Werror>")
if(BERTH_SANITIZE)
  set(berth_sanitize_flags "-fsanitize=${BERTH_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(berth_flags INTERFACE "$<${berth_host_language}:${berth_sanitize_flags}>"
    # GCC's manual: sanitizers make this warning report values that are never read (std::optional, GCC bug 80635). Every
    # other preset keeps it.
    "$<$<CXX_COMPILER_ID:GNU>:$<${berth_host_language}:-Wno-maybe-uninitialized>>")
  if(BERTH_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ warns that ThreadSanitizer does not know fences. The one fence, in host/cluster/pages.h, orders the last read of
    # another owner before a write; a reference count, which the sanitizer does know, orders the same two.
    target_compile_options(berth_flags INTERFACE "$<${berth_host_language}:-Wno-tsan>")
  endif()
  target_link_options(berth_flags INTERFACE ${berth_sanitize_flags})
endif()
if(BERTH_FUZZ)
  # libFuzzer has to see the branches of the libraries too, not of the target's own file alone.
  target_compile_options(berth_flags INTERFACE "$<${berth_host_language}:-fsanitize=fuzzer-no-link>")
  target_link_options(berth_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(BERTH_MARCH)
  # The slot kernels name an instruction set of their own, which stands behind this one and so replaces it.
  target_compile_options(berth_flags INTERFACE "$<${berth_host_language}:-march=${BERTH_MARCH}>")
endif()
if(BERTH_LTO)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT berth_ipo_supported OUTPUT berth_ipo_problem LANGUAGES C CXX)
  if(NOT berth_ipo_supported)
    message(FATAL_ERROR "BERTH_LTO=ON, but this compiler cannot optimise when linking: ${berth_ipo_problem}")
  endif()
endif()

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CROSSCOMPILING)
  # A cross-compiler looks for a linker of its target's name, and mold's package has none.
  find_program(BERTH_MOLD mold)
  # g++ 12.1 is the first g++ that knows -fuse-ld=mold.
  if(BERTH_MOLD AND (CMAKE_CXX_COMPILER_ID MATCHES "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1))
    target_link_options(berth_flags INTERFACE "$<$<LINK_LANGUAGE:C,CXX>:-fuse-ld=mold>")
  endif()
endif()

# Adds the folder when it has a CMakeLists.txt.
function(berth_add_folder_if_present folder)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt")
    add_subdirectory("${PROJECT_SOURCE_DIR}/${folder}" "${PROJECT_BINARY_DIR}/${folder}")
  endif()
endfunction()

# Settings every compiled target of ours has. Includes are written from the repository root.
function(berth_configure_target target)
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(BERTH_LTO)
    set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON)
  endif()
  if(BERTH_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${BERTH_UNITY})
    # g++ takes a source of a group for a header, where a type with parts from an anonymous namespace would be a mistake.
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>")
  endif()
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE berth::flags)
  # Headers hold arithmetic too, and a linker may keep the copy of an inline function that the user's target brings.
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_compile_options(${target} INTERFACE "$<${berth_host_language}:-ffp-contract=off>")
endfunction()

# berth_compile_apart(a.cpp ...): sources that BERTH_UNITY leaves alone, because they and a neighbour use one name for two
# things in their anonymous namespaces, or because they replace what the rest of the program uses.
function(berth_compile_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# berth_add_library(NAME <layer> [SOURCES a.cpp ...] [DEPS berth::objects TBB::tbb ...])
# Makes the static library berth_<layer> with the alias berth::<layer>; without sources, an interface library.
function(berth_add_library)
  cmake_parse_arguments(arg "" "NAME" "SOURCES;DEPS" ${ARGN})
  set(target berth_${arg_NAME})
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    berth_configure_target(${target})
    target_link_libraries(${target} PUBLIC ${arg_DEPS})
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${target} INTERFACE ${arg_DEPS})
  endif()
  add_library(berth::${arg_NAME} ALIAS ${target})
endfunction()

# What every test is compiled with, and the precompiled header of the tests too.
function(berth_configure_test target)
  berth_configure_target(${target})
  # What is under test is built as it ships; the test's own text is not worth the compile time. Sanitizers double that time
  # when an optimiser follows them.
  set(level -O1)
  if(BERTH_SANITIZE)
    set(level -O0)
  endif()
  target_compile_options(${target} PRIVATE "$<$<AND:$<NOT:$<CONFIG:Debug>>,${berth_host_language}>:${level}>")
  target_link_libraries(${target} PRIVATE GTest::gtest)
endfunction()

# The target berth_test_headers: GoogleTest and the standard library as one precompiled header for all tests. Not CMake's way:
# no file or path of the checkout may be in it, so that ccache finds the tests of another checkout. So gtest.h itself is what is
# compiled, never a group of sources (BERTH_UNITY), and the object that comes of it is the header. Not for g++ 12, which then no
# longer knows what is a system header, and warns of std::string.
function(berth_add_test_headers)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "BERTH_PRECOMPILE=ON needs clang; the compiler is ${CMAKE_CXX_COMPILER_ID}")
  endif()
  set(headers algorithm filesystem fstream map memory optional ranges set span sstream thread unordered_map vector)
  list(TRANSFORM headers REPLACE "(.+)" "SHELL:-include \\1")
  find_file(BERTH_GTEST_HEADER gtest/gtest.h REQUIRED)
  set_source_files_properties("${BERTH_GTEST_HEADER}" PROPERTIES LANGUAGE CXX)
  add_library(berth_test_headers_object OBJECT "${BERTH_GTEST_HEADER}")
  berth_configure_test(berth_test_headers_object)
  set_target_properties(berth_test_headers_object PROPERTIES POSITION_INDEPENDENT_CODE OFF UNITY_BUILD OFF)
  target_compile_options(berth_test_headers_object PRIVATE
    -fPIE  # as the sources of an executable
    "SHELL:-x c++-header" ${headers} -fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp")

  set(file "${PROJECT_BINARY_DIR}/test_headers.pch")
  add_custom_command(OUTPUT "${file}" COMMAND "${CMAKE_COMMAND}" -E copy $<TARGET_OBJECTS:berth_test_headers_object> "${file}"
                     DEPENDS $<TARGET_OBJECTS:berth_test_headers_object>)
  add_custom_target(berth_test_headers DEPENDS "${file}")
endfunction()

# The sources of `test` are compiled with that header.
function(berth_use_test_headers test)
  if(NOT TARGET berth_test_headers)
    berth_add_test_headers()
  endif()
  add_dependencies(${test} berth_test_headers)
  target_compile_options(${test} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include-pch ${PROJECT_BINARY_DIR}/test_headers.pch>")
endfunction()

# berth_add_test(NAME <name> SOURCES x_test.cpp ... [DEPS ...] [LABELS unit ...] [TIMEOUT seconds] [OWN_MAIN])
# Makes the executable <name>. CTest lists each of its cases as <name>.<Suite>.<Case>, or the whole program as <name> with
# BERTH_TEST_CASES=OFF. OWN_MAIN: the sources define main().
function(berth_add_test)
  cmake_parse_arguments(arg "OWN_MAIN" "NAME;TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  berth_configure_test(${arg_NAME})
  if(BERTH_PRECOMPILE)
    berth_use_test_headers(${arg_NAME})
  endif()
  target_link_libraries(${arg_NAME} PRIVATE ${arg_DEPS})
  if(NOT arg_OWN_MAIN)
    target_link_libraries(${arg_NAME} PRIVATE GTest::gtest_main)
  endif()
  if("cuda" IN_LIST arg_LABELS AND TARGET berth_cuda_tests)
    add_dependencies(berth_cuda_tests ${arg_NAME})
  endif()
  if(NOT BERTH_TEST_CASES)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 6")  # a whole program, and sanitizers make it several times slower
    add_test(NAME ${arg_NAME} COMMAND ${arg_NAME} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(${arg_NAME} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
    return()
  endif()
  gtest_discover_tests(${arg_NAME}
    TEST_PREFIX "${arg_NAME}."
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT ${arg_TIMEOUT})
  # gtest_discover_tests flattens a list of labels, so they are set by a file that CTest reads after its own.
  set(label_file "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}_labels.cmake")
  file(WRITE "${label_file}" "if(${arg_NAME}_TESTS)
  set_tests_properties(\${${arg_NAME}_TESTS} PROPERTIES LABELS \"${arg_LABELS}\")
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${label_file}")
endfunction()

# berth_add_benchmark(NAME <name> SOURCES x_bench.cpp ... [DEPS ...]): a Google Benchmark executable; needs BERTH_BENCH.
function(berth_add_benchmark)
  cmake_parse_arguments(arg "" "NAME" "SOURCES;DEPS" ${ARGN})
  add_executable(${arg_NAME} ${arg_SOURCES})
  berth_configure_target(${arg_NAME})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_DEPS} benchmark::benchmark benchmark::benchmark_main)
endfunction()

# berth_add_fuzzer(NAME <name> SOURCES x_fuzz.cpp [DEPS ...] [CORPUS folder]): needs BERTH_FUZZ, and clang for libFuzzer.
# CTest runs each target for BERTH_FUZZ_SECONDS (label fuzz).
function(berth_add_fuzzer)
  cmake_parse_arguments(arg "" "NAME;CORPUS" "SOURCES;DEPS" ${ARGN})
  add_executable(${arg_NAME} ${arg_SOURCES})
  berth_configure_target(${arg_NAME})
  target_compile_options(${arg_NAME} PRIVATE -fsanitize=fuzzer)
  target_link_options(${arg_NAME} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${arg_NAME} PRIVATE ${arg_DEPS})
  set(found "${PROJECT_BINARY_DIR}/corpus/${arg_NAME}")  # new inputs go here, never into the tree
  file(MAKE_DIRECTORY "${found}")
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME} -max_total_time=${BERTH_FUZZ_SECONDS} -rss_limit_mb=4096 "${found}" ${arg_CORPUS}
           WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${arg_NAME} PROPERTIES LABELS fuzz)
  math(EXPR timeout_s "${BERTH_FUZZ_SECONDS} + 120")
  set_tests_properties(${arg_NAME} PROPERTIES TIMEOUT ${timeout_s})
endfunction()
