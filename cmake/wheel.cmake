# What `pip install .` puts beside the Python package: the program and its workers (pyproject.toml).
if(NOT SKBUILD)
  return()
endif()
install(TARGETS fusesmith RUNTIME DESTINATION fusesmith/bin COMPONENT wheel)
install(DIRECTORY scripts/workers/ DESTINATION fusesmith/workers COMPONENT wheel
        PATTERN "__pycache__" EXCLUDE PATTERN "test_*" EXCLUDE PATTERN "faulty_worker.py" EXCLUDE
        PATTERN "measure.py" EXCLUDE PATTERN "record.py" EXCLUDE PATTERN "oracles.py" EXCLUDE
        PATTERN "campaigns" EXCLUDE)
