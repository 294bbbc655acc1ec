# Language level, warnings, target architecture, floating point rules: the same for every target.
include(CheckCXXSourceRuns)
include(CheckCXXSourceCompiles)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "fusesmith needs g++ 12 or newer, found ${CMAKE_CXX_COMPILER_VERSION} "
                      "(set CXX or -DCMAKE_CXX_COMPILER)")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  message(FATAL_ERROR "fusesmith needs clang 14 or newer, found ${CMAKE_CXX_COMPILER_VERSION} "
                      "(set CXX or -DCMAKE_CXX_COMPILER)")
endif()

set(default_arch "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND NOT CMAKE_CROSSCOMPILING)
  check_cxx_source_runs("
    int main() {
      __builtin_cpu_init();
      return __builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"fma\") &&
             __builtin_cpu_supports(\"bmi2\") ? 0 : 1;
    }" FUSESMITH_HOST_RUNS_X86_64_V3)
  if(FUSESMITH_HOST_RUNS_X86_64_V3)
    set(default_arch "x86-64-v3")
  endif()
endif()
set(FUSESMITH_ARCH "${default_arch}" CACHE STRING "Value of -march; empty for the compiler's default")

function(add_cxx_options)
  foreach(flag IN LISTS ARGN)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${flag}>")
  endforeach()
endfunction()

add_cxx_options(-ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_cxx_options(-Wno-maybe-uninitialized)  # false alarms on std::variant of strings, seen with g++ 12
endif()
if(FUSESMITH_ARCH)
  add_cxx_options("-march=${FUSESMITH_ARCH}")
endif()
if(FUSESMITH_WERROR)
  add_cxx_options(-Werror)
endif()
add_compile_definitions(FUSESMITH_VERSION="${PROJECT_VERSION}")
if(FUSESMITH_FAULTS)
  add_compile_definitions(FUSESMITH_FAULTS=1)
endif()
