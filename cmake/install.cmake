# What `cmake --install` installs: the program and its workers, libfusesmith, the headers with a CMake package for
# plug-ins, and the documentation. `pip install .` installs the component `wheel` alone.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# measure.py writes measured.json, which is installed.
set(workers_left_out PATTERN "__pycache__" EXCLUDE PATTERN "measure.py" EXCLUDE)

install(TARGETS fusesmith RUNTIME)
install(TARGETS fusesmith_library LIBRARY OPTIONAL)  # where it was built
install(DIRECTORY python/workers/ DESTINATION "${CMAKE_INSTALL_DATADIR}/fusesmith/workers" ${workers_left_out})
install(DIRECTORY python/fusesmith DESTINATION "${CMAKE_INSTALL_DATADIR}/fusesmith/python"
        PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY include/fusesmith DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs corpus DESTINATION "${CMAKE_INSTALL_DOCDIR}")
# What the documentation links to.
install(DIRECTORY scripts/slurm scripts/kubernetes DESTINATION "${CMAKE_INSTALL_DOCDIR}/scripts"
        PATTERN "__pycache__" EXCLUDE PATTERN "test_*" EXCLUDE)
foreach(folder studies endurance)
  install(FILES scripts/${folder}/README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}/scripts/${folder}")
endforeach()
install(DIRECTORY include/fusesmith DESTINATION "${CMAKE_INSTALL_DOCDIR}/include")

# The manual page and the completions of shells, which the program prints itself.
function(install_printed folder file)
  install(CODE "
    set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}\")
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:fusesmith>\" ${ARGN} OUTPUT_FILE \"\${folder}/${file}\"
                    COMMAND_ERROR_IS_FATAL ANY)
    message(STATUS \"Installing: \${folder}/${file}\")")
endfunction()
if(NOT CMAKE_CROSSCOMPILING)
  install_printed("${CMAKE_INSTALL_MANDIR}/man1" fusesmith.1 man)
  install_printed("${CMAKE_INSTALL_DATADIR}/bash-completion/completions" fusesmith completion bash)
  install_printed("${CMAKE_INSTALL_DATADIR}/zsh/site-functions" _fusesmith completion zsh)
endif()

# find_package(fusesmith) gives the target fusesmith::plugin.
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/fusesmith")
set_target_properties(fusesmith_plugin PROPERTIES EXPORT_NAME plugin)
install(TARGETS fusesmith_plugin EXPORT fusesmith)
install(EXPORT fusesmith FILE fusesmithConfig.cmake NAMESPACE fusesmith:: DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/fusesmithConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/generated/fusesmithConfigVersion.cmake" DESTINATION "${package_folder}")

# What `pip install .` puts beside the Python package (pyproject.toml).
if(SKBUILD)
  install(TARGETS fusesmith RUNTIME DESTINATION fusesmith/bin COMPONENT wheel)
  # Without its versions: a wheel has no links.
  install(PROGRAMS $<TARGET_FILE:fusesmith_library> DESTINATION fusesmith/bin COMPONENT wheel RENAME libfusesmith.so)
  install(DIRECTORY python/workers/ DESTINATION fusesmith/workers COMPONENT wheel ${workers_left_out})
endif()
