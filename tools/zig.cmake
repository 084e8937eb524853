# Zig's Clang, from the package ziglang, as CMake's compiler for any system:
#
#   cmake --toolchain tools/zig.cmake -DPYPTX_ZIG=<program> -DPYPTX_ZIG_TARGET=aarch64-linux-gnu.2.28
#
# A target of Linux ends in the oldest glibc that the result is to run with.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PYPTX_ZIG PYPTX_ZIG_TARGET)
set(PYPTX_ZIG zig CACHE STRING "The program zig")
set(PYPTX_ZIG_TARGET x86_64-linux-gnu.2.28 CACHE STRING "Zig's name of a processor, a system and an ABI")

string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${PYPTX_ZIG_TARGET}")
if(PYPTX_ZIG_TARGET MATCHES "-linux-")
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SHARED_LINKER_FLAGS_INIT -s)
elseif(PYPTX_ZIG_TARGET MATCHES "-macos")
  set(CMAKE_SYSTEM_NAME Darwin)
elseif(PYPTX_ZIG_TARGET MATCHES "-windows-")
  set(CMAKE_SYSTEM_NAME Windows)
else()
  message(FATAL_ERROR "zig.cmake knows targets of linux, macos and windows, not ${PYPTX_ZIG_TARGET}")
endif()
set(CMAKE_C_COMPILER ${PYPTX_ZIG} cc -target ${PYPTX_ZIG_TARGET})
set(CMAKE_CXX_COMPILER ${PYPTX_ZIG} c++ -target ${PYPTX_ZIG_TARGET})
