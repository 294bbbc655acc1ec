# cmake -DPARTS=NAME=FILE;... -DHEADER=... -DOUTPUT=... -P embed.cmake: writes a C++ file that defines each NAME of
# the header as the text of its file.
set(code "#include \"${HEADER}\"\n\nnamespace fusesmith::fuzz {\n\n")
foreach(part IN LISTS PARTS)
  string(REGEX MATCH "^([A-Za-z]+)=(.*)$" match "${part}")
  file(READ "${CMAKE_MATCH_2}" text)
  string(APPEND code "const std::string_view ${CMAKE_MATCH_1} = R\"embedded(${text})embedded\";\n\n")
endforeach()
file(WRITE "${OUTPUT}" "${code}}  // namespace fusesmith::fuzz\n")
