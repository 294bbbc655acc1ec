# The parts of the page of `fusesmith report`, which are part of the program: files of their own, so that editors know
# their languages.
set(parts_folder "${PROJECT_SOURCE_DIR}/fuzz/page/parts")
set(parts "kPageHtml=${parts_folder}/page.html;kPageCss=${parts_folder}/page.css;kPageJs=${parts_folder}/page.js")
set(parts_source "${PROJECT_BINARY_DIR}/generated/page_parts.cc")
add_custom_command(OUTPUT "${parts_source}"
                   COMMAND "${CMAKE_COMMAND}" "-DPARTS=${parts}" "-DHEADER=fuzz/page/parts.h"
                           "-DOUTPUT=${parts_source}" -P "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
                   DEPENDS "${PROJECT_SOURCE_DIR}/cmake/embed.cmake" "${parts_folder}/page.html"
                           "${parts_folder}/page.css" "${parts_folder}/page.js"
                   COMMENT "Embedding the parts of the page" VERBATIM)
target_sources(fusesmith_fuzz PRIVATE "${parts_source}")
