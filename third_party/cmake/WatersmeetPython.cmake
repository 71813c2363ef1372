# Finds Python and pybind11. Inside a wheel build scikit-build-core has set both; in a plain CMake build the
# interpreter is Python_EXECUTABLE if given, else the active or the project's virtual environment, else the system's,
# and pybind11 is asked of that interpreter.
include_guard(GLOBAL)

if(NOT DEFINED Python_EXECUTABLE AND NOT DEFINED SKBUILD)
  foreach(environment IN ITEMS "$ENV{VIRTUAL_ENV}" "${PROJECT_SOURCE_DIR}/.venv")
    if(environment AND EXISTS "${environment}/bin/python")
      set(Python_EXECUTABLE "${environment}/bin/python" CACHE FILEPATH "The Python to build for")
      break()
    endif()
  endforeach()
endif()

set(PYBIND11_FINDPYTHON ON)
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)

if(NOT DEFINED SKBUILD AND NOT pybind11_DIR)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -m pybind11 --cmakedir
    OUTPUT_VARIABLE pybind11_cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET RESULT_VARIABLE pybind11_missing)
  if(NOT pybind11_missing)
    set(pybind11_DIR "${pybind11_cmake_dir}" CACHE PATH "pybind11's CMake files")
  endif()
endif()

if(DEFINED SKBUILD)
  find_package(pybind11 2.13 CONFIG REQUIRED)
else()
  find_package(pybind11 2.13 CONFIG)
  if(NOT pybind11_FOUND)
    message(WARNING "_native is left out: ${Python_EXECUTABLE} has no pybind11 (pip install pybind11, or run 'make venv')")
  endif()
endif()
