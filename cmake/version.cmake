# What `fusesmith --version` says of this build. The commit stands in a header of main.cc, made again when HEAD
# moves: only that file is then compiled again.
set(libfuzzer false)
if(FUSESMITH_LIBFUZZER AND FUSESMITH_HAS_LIBFUZZER)
  set(libfuzzer true)
endif()
if(FUSESMITH_ARCH)
  set(march "${FUSESMITH_ARCH}")
else()
  set(march "default")
endif()
set_property(SOURCE fuzz/cli/version.cc APPEND PROPERTY COMPILE_DEFINITIONS
             FUSESMITH_BUILD_TYPE="${CMAKE_BUILD_TYPE}" FUSESMITH_LIBFUZZER_BUILT=${libfuzzer}
             FUSESMITH_MARCH="${march}")

find_package(Git QUIET)
set(head_log "")
if(GIT_FOUND)
  execute_process(COMMAND "${GIT_EXECUTABLE}" rev-parse --git-path logs/HEAD
                  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE head_log
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  get_filename_component(head_log "${head_log}" ABSOLUTE BASE_DIR "${PROJECT_SOURCE_DIR}")
  if(NOT EXISTS "${head_log}" OR IS_DIRECTORY "${head_log}")
    set(head_log "")
  endif()
endif()
set(commit_header "${PROJECT_BINARY_DIR}/generated/commit.h")
add_custom_command(OUTPUT "${commit_header}"
                   COMMAND "${CMAKE_COMMAND}" "-DGIT=${GIT_EXECUTABLE}" "-DSOURCE=${PROJECT_SOURCE_DIR}"
                           "-DHEADER=${commit_header}" -P "${PROJECT_SOURCE_DIR}/cmake/commit.cmake"
                   DEPENDS "${PROJECT_SOURCE_DIR}/cmake/commit.cmake" ${head_log}
                   COMMENT "Reading the commit" VERBATIM)
if(TARGET fusesmith)
  target_sources(fusesmith PRIVATE "${commit_header}")
  target_include_directories(fusesmith PRIVATE "${PROJECT_BINARY_DIR}/generated")
endif()
