# How every watersmeet target is compiled: language, warnings, optimisation, sanitizers.
#
# Never -march=native: a wheel must run on any machine of its platform. Code for wider vectors is chosen at run
# time, function by function (target attributes), so that no inline function leaks out compiled for a newer CPU.
include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

# Warnings are errors with the compilers we check with. A newer compiler may know new warnings, and they must not
# stop somebody from installing; in wheel builds they never do.
set(werror OFF)
if(NOT DEFINED SKBUILD)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    set(werror ON)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)
    set(werror ON)
  endif()
endif()
option(WATERSMEET_WERROR "Treat warnings in our own code as errors" ${werror})

find_package(Threads REQUIRED)

add_library(watersmeet_options INTERFACE)
target_compile_options(watersmeet_options INTERFACE -Wall -Wextra -Wconversion)
if(WATERSMEET_WERROR)
  target_compile_options(watersmeet_options INTERFACE -Werror)
endif()
if(WATERSMEET_CHECKS)
  target_compile_definitions(watersmeet_options INTERFACE WATERSMEET_CHECKS=1)
endif()
target_link_libraries(watersmeet_options INTERFACE Threads::Threads)

# Sanitizers must reach every object and every link, third-party objects included.
if(WATERSMEET_SANITIZE STREQUAL "address")
  set(sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(WATERSMEET_SANITIZE STREQUAL "thread")
  set(sanitize_flags -fsanitize=thread -fno-omit-frame-pointer)
elseif(WATERSMEET_SANITIZE)
  message(FATAL_ERROR "WATERSMEET_SANITIZE is '${WATERSMEET_SANITIZE}'; it may be empty, 'address' or 'thread'")
endif()
if(WATERSMEET_SANITIZE)
  add_compile_options(${sanitize_flags})
  add_link_options(${sanitize_flags})
endif()
if(WATERSMEET_BUILD_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "WATERSMEET_BUILD_FUZZ needs Clang, this is ${CMAKE_CXX_COMPILER_ID}: cmake --preset fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
