#!/usr/bin/env bash
# Installs a build tree for embedders into a new prefix, then configures, builds and runs examples/
# against it, as somebody else's project would.
# usage: install_example_test.sh <build folder> <c++ compiler> <c compiler>
set -euo pipefail
build="$(cd "$1" && pwd)"
source="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/prefix" --component Development
strangers="$(cd "$scratch/prefix/include" && find . -type f ! -path './eris/*.h')"
[[ -z "$strangers" ]] || { echo "installed beside include/eris: $strangers"; exit 1; }

# From a copy, so that no relative path into this tree can help.
cp -r "$source/examples" "$scratch/examples"
cmake -S "$scratch/examples" -B "$scratch/build" -G Ninja -DCMAKE_CXX_COMPILER="$2" -DCMAKE_C_COMPILER="$3" \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$scratch/prefix"
cmake --build "$scratch/build"
output="$("$scratch/build/embed")"
echo "$output"
grep -q '^squares\[31\] = 961$' <<< "$output"
grep -q '^14 -> 196$' <<< "$output"
output="$("$scratch/build/speed" 10000 0.2)"
echo "$output"
grep -q ' keys/s; .* 0 wrong$' <<< "$output"
output="$("$scratch/build/leap")"
echo "$output"
grep -q ' 0 lost;' <<< "$output"

# The C program: once by CMake, once with nothing but the C compiler and pkg-config.
check_c() {
  local output
  output="$(LD_LIBRARY_PATH="$scratch/lib" "$1")"
  echo "$output"
  grep -q '^squares\[31\] = 961$' <<< "$output"
  grep -q '^15 -> 225$' <<< "$output"
}
ln -s "$(dirname "$(find "$scratch/prefix" -name liberis.so)")" "$scratch/lib"
check_c "$scratch/build/embed_c"
export PKG_CONFIG_PATH="$scratch/lib/pkgconfig"
read -ra flags <<< "$(pkg-config --cflags --libs eris)"
"$3" -std=c99 -pedantic-errors -Wall -Wextra -Werror "$scratch/examples/embed_c.c" "${flags[@]}" -o "$scratch/embed_c"
check_c "$scratch/embed_c"
[[ "$(pkg-config --modversion eris)" == "$(sed -n 's/^project(eris VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")" ]]
