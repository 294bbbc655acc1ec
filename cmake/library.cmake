# libfusesmith: the judge as a C library (include/fusesmith/check.h). Its objects are compiled for it alone, since those
# of the program are not position-independent; so only --target=fusesmith_library and the wheel build it.
folder_sources(library_sources "graph/*.cc" "oracle/*.cc" "fuzz/library/*.cc")
list(APPEND library_sources
     backends/remote/remote_plan.cc fuzz/base/escape.cc fuzz/base/output_width.cc fuzz/base/table.cc
     fuzz/report/resolution_text.cc fuzz/report/symptoms.cc
     fuzz/report/verdict_json.cc fuzz/report/verdict_text.cc)
add_library(fusesmith_library SHARED EXCLUDE_FROM_ALL ${library_sources})
target_include_directories(fusesmith_library PRIVATE "${PROJECT_SOURCE_DIR}")
target_link_libraries(fusesmith_library PRIVATE nlohmann_json::nlohmann_json Eigen3::Eigen Threads::Threads
                                                fusesmith_plugin)
set_target_properties(fusesmith_library PROPERTIES
    OUTPUT_NAME fusesmith VERSION "${PROJECT_VERSION}" SOVERSION 1 CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}"
    LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/library.map")
target_link_options(fusesmith_library PRIVATE "LINKER:--no-undefined"
                    "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/library.map")
precompile(fusesmith_library "" ${oracle_headers})
unite(fusesmith_library ${library_sources})
