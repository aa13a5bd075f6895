# SPDX-License-Identifier: Apache-2.0
# Decides whether the CUDA backend is built. Sets berth_cuda_folders and BERTH_CUDA_ENABLED.

set(berth_cuda_folders)
set(BERTH_CUDA_ENABLED OFF)
if(EXISTS "${PROJECT_SOURCE_DIR}/cuda/CMakeLists.txt" AND NOT BERTH_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(berth_cuda_folders cuda)
    set(BERTH_CUDA_ENABLED ON)
  elseif(NOT BERTH_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "BERTH_CUDA=${BERTH_CUDA}, but no nvcc was found; install the CUDA toolkit or use AUTO")
  endif()
elseif(NOT BERTH_CUDA MATCHES "^(AUTO|OFF)$")
  message(FATAL_ERROR "BERTH_CUDA=${BERTH_CUDA}, but this tree has no CUDA backend")
endif()
