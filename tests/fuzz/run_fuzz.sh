#!/usr/bin/env bash
# Runs the index fuzzer: first with a planted fault, which it must find from nothing, then for real,
# from the seeds and from what earlier runs have gathered. ./dev fuzz calls it.
# usage: run_fuzz.sh <build folder of the preset fuzz> <seconds>
set -uo pipefail
build="$(cd "$1" && pwd)" || exit 2
seconds="$2"
fuzz="$build/tests/fuzz/index_fuzz"
corpus="$build/corpus/index"
found="$build/found"
log="$build/fuzz-index.log"
readonly kCommandBytes=8
readonly kCommandsMax=48
readonly kPlant=2           # a block that leaks in a split: two commands find it
readonly kPlantSeconds=60   # at most; it takes a few
options=(-max_len=$((kCommandBytes * kCommandsMax)) -timeout=60 -rss_limit_mb=3000 -len_control=10)

rm -rf "$build/planted"
mkdir -p "$corpus" "$found" "$build/planted"
if ERIS_FUZZ_PLANT=$kPlant "$fuzz" "${options[@]}" -max_total_time=$kPlantSeconds \
    -artifact_prefix="$build/planted/" "$build/planted" > "$log" 2>&1; then
  echo "fuzz: a planted fault was not found within $kPlantSeconds s: see $log"
  exit 1
fi
grep -q '^INTERNAL: .*the manager counts' "$log" || { tail -n 30 "$log"; echo "fuzz: died of something else"; exit 1; }
echo "fuzz: a planted fault is found after $(find "$build/planted" -type f | wc -l) inputs that were new"

"$build/tests/fuzz/index_seeds" "$corpus" || exit 1
"$fuzz" "${options[@]}" -max_total_time="$seconds" -artifact_prefix="$found/" -print_final_stats=1 \
  "$corpus" > "$log" 2>&1
status=$?
edges="$(grep -oP 'Loaded 1 modules +\(\K[0-9]+' "$log" | head -n 1)"
read -r covered inputs <<< "$(grep -oP ' cov: \K[0-9]+.* corp: [0-9]+' "$log" | tail -n 1 |
  sed -E 's/ .*corp: / /')"
runs="$(grep -oP '^#\K[0-9]+' "$log" | tail -n 1)"
rate="$(grep -oP 'exec/s: \K[0-9]+' "$log" | tail -n 1)"
echo "fuzz: ${runs:-0} executions, ${rate:-0} a second; ${covered:-0} of ${edges:-?} edges of base, memory and storage; ${inputs:-0} inputs kept"
if ((status == 0)); then
  echo "fuzz: silent"
  exit 0
fi
crash="$(grep -oP 'Test unit written to \K.*' "$log" | tail -n 1)"
grep -A 60 -E '^INTERNAL|ERROR: |runtime error' "$log" | head -n 80
if [[ -n "$crash" ]]; then
  echo "fuzz: failed with $crash; made smaller:"
  "$fuzz" -minimize_crash=1 -max_total_time=60 -exact_artifact_path="$crash.small" "$crash" \
    > "$log.small" 2>&1
  [[ -s "$crash.small" ]] || cp "$crash" "$crash.small"
  "$fuzz" "$crash.small" 2>&1 | grep -A 60 -E '^INTERNAL|ERROR: |runtime error' | head -n 40
  echo "fuzz: it stands in $crash.small; add its replay text to tests/fuzz/index_fuzz_test.cc"
fi
exit 1
