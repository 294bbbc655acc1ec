# Every option of the build, in one place.
option(BUILD_TESTING "Build the tests" ON)
if(BUILD_TESTING)
  enable_testing()
endif()

set(FUSESMITH_CUDA AUTO CACHE STRING
    "CUDA backends: AUTO (where nvcc is), GPU (where an NVIDIA GPU answers too, for it alone), ON or OFF")
set(FUSESMITH_LIBFUZZER AUTO CACHE STRING "libFuzzer targets (clang only): AUTO, ON or OFF")
set_property(CACHE FUSESMITH_LIBFUZZER PROPERTY STRINGS AUTO ON OFF)
set_property(CACHE FUSESMITH_CUDA PROPERTY STRINGS AUTO GPU ON OFF)
option(FUSESMITH_FAULTS "Compile the faults (--faults) into the fused backends" OFF)
option(FUSESMITH_WERROR "Warnings are errors" OFF)
# FUSESMITH_ARCH, a -march value, gets its default in compiler.cmake.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
