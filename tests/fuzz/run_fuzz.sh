#!/usr/bin/env bash
# Runs a fuzzer: first with a planted fault, which it must find, then for real, from the seeds and from
# what earlier runs have gathered. ./dev fuzz calls it.
# usage: run_fuzz.sh <build folder of the preset asan> <seconds> [index | plan | flight | request | config | filter | csv]
set -uo pipefail
build="$(cd "$1" && pwd)" || exit 2
seconds="$2"
target="${3:-index}"
fuzz="$build/tests/fuzz/${target}_fuzz"
corpus="$build/corpus/$target"
found="$build/found"
log="$build/fuzz-$target.log"
readonly kCommandBytes=8
readonly kCommandsMax=48
readonly kPlanBytesMax=8192
readonly kFlightBytesMax=4096
readonly kRequestBytesMax=8192
readonly kTextBytesMax=8192
readonly kPlantSeconds=300  # at most; it takes a few, or a minute on a machine with other work
options=(-timeout=60 -rss_limit_mb=3000 -len_control=10)
case "$target" in
  index)
    options+=(-max_len=$((kCommandBytes * kCommandsMax)))
    plant=2  # a block that leaks in a split: two commands find it
    plant_text='^INTERNAL: .*the manager counts'
    seeds=()  # the fault is found from nothing
    code="base, memory and storage" ;;
  plan)
    options+=(-max_len=$kPlanBytesMax -mutate_depth=1)  # a change has several steps by itself
    plant=1  # a longer filter than that of query 6
    plant_text='^INTERNAL: a long filter'
    plans="$(dirname "$0")/../tpch/plans"
    seeds=("$plans/datafusion" "$plans/duckdb")
    code="server/substrait" ;;
  flight)
    options+=(-max_len=$kFlightBytesMax)
    plant=1  # offsets of strings are believed
    plant_text='^INTERNAL: \(a string outside its bytes\|offsets that descend\)'
    seeds=()
    code="the reader of Arrow's columns" ;;
  request)
    options+=(-max_len=$kRequestBytesMax)
    plant=1  # the estimate of a request's memory is eight times its bytes
    plant_text='^INTERNAL: a message of'
    seeds=()
    code="wire and the reader of requests" ;;
  config | filter | csv)
    options+=(-max_len=$kTextBytesMax)
    plant=1
    plant_text='^INTERNAL: a planted'
    seeds=()
    case "$target" in
      config) code="the reader of configurations" ;;
      filter) code="the reader of filters" ;;
      csv) code="the reader of delimited files" ;;
    esac ;;
  *) echo "fuzz: there is no fuzzer '$target'"; exit 2 ;;
esac

rm -rf "$build/planted"
mkdir -p "$corpus" "$found" "$build/planted"
if [[ "$target" == plan ]]; then cp "$plans/datafusion/q06.plan" "$build/planted/"; fi
if [[ "$target" =~ ^(flight|request|config|filter|csv)$ ]]; then "$build/tests/fuzz/${target}_seeds" "$build/planted" || exit 1; fi
if ERIS_FUZZ_PLANT=$plant "$fuzz" "${options[@]}" -max_total_time=$kPlantSeconds \
    -artifact_prefix="$build/planted/" "$build/planted" > "$log" 2>&1; then
  echo "fuzz: a planted fault was not found within $kPlantSeconds s: see $log"
  exit 1
fi
grep -q "$plant_text" "$log" || { tail -n 30 "$log"; echo "fuzz: died of something else"; exit 1; }
echo "fuzz: a planted fault is found after $(find "$build/planted" -type f | wc -l) inputs that were new"

if [[ "$target" != plan ]]; then "$build/tests/fuzz/${target}_seeds" "$corpus" || exit 1; fi
"$fuzz" "${options[@]}" -max_total_time="$seconds" -artifact_prefix="$found/" -print_final_stats=1 \
  "$corpus" "${seeds[@]}" > "$log" 2>&1
status=$?
edges="$(grep -oP 'Loaded 1 modules +\(\K[0-9]+' "$log" | head -n 1)"
read -r covered inputs <<< "$(grep -oP ' cov: \K[0-9]+.* corp: [0-9]+' "$log" | tail -n 1 |
  sed -E 's/ .*corp: / /')"
runs="$(grep -oP '^#\K[0-9]+' "$log" | tail -n 1)"
rate="$(grep -oP 'exec/s: \K[0-9]+' "$log" | tail -n 1)"
echo "fuzz: ${runs:-0} executions, ${rate:-0} a second; ${covered:-0} of ${edges:-?} edges of $code; ${inputs:-0} inputs kept"
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
  echo "fuzz: it is in $crash.small; replay it in tests/fuzz/${target}_fuzz_test.cc"
fi
exit 1
