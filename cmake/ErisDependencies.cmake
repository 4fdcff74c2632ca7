# docs/internals/DEPENDENCIES.md has the reason for every package here, and says which are linked statically.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(absl REQUIRED CONFIG)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
find_package(simdjson REQUIRED CONFIG)           # simdjson::simdjson
if(ERIS_TESTS)
  find_package(GTest REQUIRED CONFIG)
  find_package(rapidcheck REQUIRED CONFIG)
endif()
if(ERIS_BENCH)
  find_package(benchmark REQUIRED CONFIG)
endif()
find_package(OpenSSL REQUIRED)  # OpenSSL::Crypto
if(ERIS_SERVER)
  # Protobuf must be found in module mode before gRPC's own package file asks for it.
  set(Protobuf_USE_STATIC_LIBS ON)
  set(CMAKE_FIND_PACKAGE_PREFER_CONFIG OFF)
  find_package(Protobuf REQUIRED MODULE)
  find_package(gRPC REQUIRED CONFIG)
  find_package(Boost 1.74 REQUIRED)              # Boost::headers; Asio and System are header-only
  find_package(CLI11 REQUIRED CONFIG)            # CLI11::CLI11
  find_package(nlohmann_json REQUIRED CONFIG)    # nlohmann_json::nlohmann_json
  find_package(tomlplusplus REQUIRED CONFIG)     # tomlplusplus::tomlplusplus
  find_package(spdlog REQUIRED CONFIG)           # its headers alone, with fmt's
  pkg_check_modules(PROMETHEUS REQUIRED IMPORTED_TARGET prometheus-cpp-core)
  find_package(ZLIB REQUIRED)                    # ZLIB::ZLIB
  pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
endif()

# Abseil's shared objects, for liberis.so (capi/): ERIS_SHARED_ABSEIL.
get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
list(FILTER targets INCLUDE REGEX "^absl::")
foreach(target IN LISTS targets)
  get_target_property(location ${target} IMPORTED_LOCATION_NONE)
  if(location MATCHES "\\.so[.0-9]*$")
    list(APPEND ERIS_SHARED_ABSEIL ${location})
  endif()
endforeach()
list(REMOVE_DUPLICATES ERIS_SHARED_ABSEIL)

# gRPC, protobuf and Abseil are linked from their static archives: 15-20 % more small requests per second than with the
# shared objects, and only one copy of each. Debian's package files name only the shared objects; the archives are in
# the same folder under the same name.
function(eris_prefer_archives)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    if(NOT target MATCHES "^(absl|gRPC)::")
      continue()
    endif()
    get_target_property(shared ${target} IMPORTED_LOCATION_NONE)
    if(shared MATCHES "\\.so[.0-9]*$")
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive ${shared})
      if(EXISTS ${archive})
        set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_NONE ${archive})
      else()
        message(STATUS "${target}: no static archive, linked shared")
      endif()
    endif()
  endforeach()
endfunction()
option(ERIS_PREFER_ARCHIVES "Link the archives of Abseil and gRPC; not into a shared object" ON)
if(ERIS_PREFER_ARCHIVES)
  eris_prefer_archives()
endif()
