# Everything comes from the distribution's packages. All that is missing is named in one message.
set(missing_packages "")

macro(require_package name debian_package)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    list(APPEND missing_packages ${debian_package})
  endif()
endmacro()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
require_package(nlohmann_json nlohmann-json3-dev)
require_package(Eigen3 libeigen3-dev)
require_package(fmt libfmt-dev)
require_package(spdlog libspdlog-dev)
require_package(CLI11 libcli11-dev)
# A header alone; -DDLPACK_INCLUDE_DIR=DIR names a copy that is elsewhere.
find_path(DLPACK_INCLUDE_DIR dlpack/dlpack.h)
if(NOT DLPACK_INCLUDE_DIR)
  list(APPEND missing_packages libdlpack-dev)
endif()
if(BUILD_TESTING)
  require_package(GTest libgtest-dev)
endif()
find_package(benchmark QUIET)

if(missing_packages)
  list(JOIN missing_packages " " missing_packages)
  message(FATAL_ERROR "Missing packages: ${missing_packages}\n"
                      "Install them with: apt-get install ${missing_packages}\n"
                      "or let scripts/quickstart do all of it.")
endif()

# Debian's header-only spdlog still links libfmt.so; the binary must start without it.
get_target_property(spdlog_links spdlog::spdlog_header_only INTERFACE_LINK_LIBRARIES)
list(TRANSFORM spdlog_links REPLACE "^fmt::fmt$" "fmt::fmt-header-only")
set_target_properties(spdlog::spdlog_header_only PROPERTIES INTERFACE_LINK_LIBRARIES "${spdlog_links}")
