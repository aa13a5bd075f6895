# SPDX-License-Identifier: Apache-2.0
# Decides whether the CUDA backend is built, and with what. Sets berth_cuda_folders and BERTH_CUDA_ENABLED.
#   AUTO  when CMAKE_CUDA_COMPILER, CUDACXX, the PATH or /usr/local/cuda have an nvcc that is new enough
#   ON    as AUTO, and else with build/cuda-toolkit (scripts/install_cuda.sh); an error when that is not there either
#   OFF   not at all
# AUTO leaves build/cuda-toolkit alone: what `make test` builds should not depend on what somebody ran before.
# CMake's FindCUDAToolkit is not used: that of 3.25 asks for libraries which CUDA 13 no longer has.

set(berth_cuda_folders)
set(BERTH_CUDA_ENABLED OFF)
set(berth_cuda_version_min 12.8)  # the first that knows sm_100
set(berth_cuda_toolkit "${PROJECT_SOURCE_DIR}/build/cuda-toolkit/nvidia/cu13")

# berth_nvcc_version(<variable> <nvcc>): "13.0", or nothing when it does not run.
function(berth_nvcc_version variable nvcc)
  execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE failed)
  string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" matched "${text}")
  set(${variable} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# berth_find_nvcc(<variable>): the first nvcc that is new enough, or nothing. One that was asked for is the only candidate.
function(berth_find_nvcc variable)
  set(${variable} "" PARENT_SCOPE)
  if(CMAKE_CUDA_COMPILER)
    set(candidates "${CMAKE_CUDA_COMPILER}")
  elseif(DEFINED ENV{CUDACXX})
    set(candidates "$ENV{CUDACXX}")
  else()
    find_program(on_path nvcc NO_CACHE)
    set(candidates ${on_path} /usr/local/cuda/bin/nvcc)
    if(NOT BERTH_CUDA STREQUAL "AUTO")
      list(APPEND candidates "${berth_cuda_toolkit}/bin/nvcc")
    endif()
  endif()
  foreach(nvcc IN LISTS candidates)
    berth_nvcc_version(version "${nvcc}")
    if(version VERSION_GREATER_EQUAL berth_cuda_version_min)
      set(${variable} "${nvcc}" PARENT_SCOPE)
      return()
    elseif(version)
      message(STATUS "CUDA: ${nvcc} is ${version}, too old: ${berth_cuda_version_min} is needed")
    endif()
  endforeach()
endfunction()

if(BERTH_CUDA STREQUAL "OFF")
  return()
endif()
if(NOT EXISTS "${PROJECT_SOURCE_DIR}/cuda/CMakeLists.txt")
  if(NOT BERTH_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "BERTH_CUDA=${BERTH_CUDA}, but this tree has no CUDA backend")
  endif()
  return()
endif()
berth_find_nvcc(berth_nvcc)
if(NOT berth_nvcc)
  if(NOT BERTH_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "BERTH_CUDA=${BERTH_CUDA}, but no nvcc of CUDA ${berth_cuda_version_min} or later was found. "
                        "'make cuda' installs one into build/cuda-toolkit (or scripts/install_cuda.sh alone); "
                        "BERTH_CUDA=OFF builds without")
  endif()
  return()
endif()

# A cubin each for A100, H100 and B200, so that no first launch waits for a compiler, and PTX for what comes later. sm_90a
# is left out: no kernel uses what it adds (wgmma, setmaxnreg).
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;100-real;100-virtual")
endif()
set(CMAKE_CUDA_COMPILER "${berth_nvcc}" CACHE FILEPATH "nvcc")
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
if(BERTH_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${BERTH_CCACHE}")
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")  # CMake 3.25.1 does not know that nvcc has it
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O3 -Xcompiler=-g1 -lineinfo -DNDEBUG")
set(berth_cuda_folders cuda)
set(BERTH_CUDA_ENABLED ON)

# The static runtime opens the driver with dlopen: the program starts on a machine without one.
find_library(berth_cudart_static cudart_static HINTS ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES} NO_CACHE REQUIRED)

# What a target needs that includes a CUDA header, or is one of the device compiler's. Linked PRIVATE, so that targets above
# it see no CUDA header, and their objects are those of a build without CUDA.
add_library(berth_cuda_flags INTERFACE)
add_library(berth::cuda_flags ALIAS berth_cuda_flags)
target_include_directories(berth_cuda_flags SYSTEM INTERFACE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
target_link_libraries(berth_cuda_flags INTERFACE "${berth_cudart_static}" Threads::Threads ${CMAKE_DL_LIBS} rt)
target_compile_options(berth_cuda_flags INTERFACE
  # One rounding an operation, as on the host: scores must be equal bit for bit. Rules call constexpr functions of the
  # standard library (std::min). -Wconversion is not for the code that nvcc generates.
  "$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra,-ffp-contract=off>"
  "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${BERTH_WERROR}>>:-Werror=all-warnings;-Xcompiler=-Werror>")

add_custom_target(berth_cuda_tests)  # builds every test with the label cuda, for those who need no other

# berth_add_cuda_library(NAME <layer> SOURCES a.cpp b.cu ... [DEPS ...]): as berth_add_library, with the CUDA headers,
# flags and runtime. Those who link it and include CUDA headers themselves name berth::cuda_flags too.
function(berth_add_cuda_library)
  cmake_parse_arguments(arg "" "NAME" "" ${ARGN})
  berth_add_library(${ARGN})
  target_link_libraries(berth_${arg_NAME} PRIVATE berth::cuda_flags)
endfunction()
