# Compiles through ccache where it is installed, precompiled headers included.
find_program(CCACHE ccache)
if(NOT CCACHE OR CMAKE_CXX_COMPILER_LAUNCHER)
  return()
endif()
# What a cached object depends on beside its sources: the precompiled header is hashed, its time stamp is not, and
# neither is the folder of the clone.
set(CMAKE_CXX_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/cmake/ccache_launcher" "${CMAKE_COMMAND}" -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${CCACHE}")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # ccache sees which precompiled header is read
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
