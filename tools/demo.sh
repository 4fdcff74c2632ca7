#!/usr/bin/env bash
# A server with ten million keys, end to end over gRPC: load, batched lookups, upserts, ordered scans; then
# a load that moves to half of the keys, without and with the balancer. Every answer is verified, and every
# figure printed is of this run.
#
#   tools/demo.sh <builddir>
#
# ERIS_DEMO_KEYS and ERIS_DEMO_SECONDS (per operation) make it larger or smaller.
set -euo pipefail

build=${1:?usage: tools/demo.sh <builddir>}
keys=${ERIS_DEMO_KEYS:-10000000}
seconds=${ERIS_DEMO_SECONDS:-5}
eris=$build/clients/cli/eris

work=$(mktemp -d)
server_pid=

stop_server() {  # with SIGTERM; returns the server's exit code
  local pid=$server_pid
  server_pid=
  kill -TERM "$pid"
  wait "$pid"
}

cleanup() {
  [[ -z $server_pid ]] || stop_server || true
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# A separate process group: Ctrl-C reaches only this script, which then stops the server.
set -m
"$eris" serve --listen 127.0.0.1:0 --port-file "$work/port" >"$work/server.log" 2>&1 &
server_pid=$!
set +m
for ((i = 0; i < 300; ++i)); do
  [[ -s $work/port ]] && break
  kill -0 "$server_pid" 2>/dev/null || break
  sleep 0.1
done
if [[ ! -s $work/port ]]; then
  echo "demo: the server did not start:" >&2
  cat "$work/server.log" >&2
  exit 1
fi
ERIS_SERVER=127.0.0.1:$(<"$work/port")
export ERIS_SERVER
echo "server at $ERIS_SERVER, $keys keys spread over 64 bits, every answer verified"
echo

printf '%-22s %14s %14s %10s %10s\n' operation operations/s keys/s 'p50 ms' 'p99 ms'
# load <workload> <eris bench arguments...>: requests/s, keys/s, p50 and p99 in ms into $work/row.
load() {
  "$eris" bench "$@" --keys "$keys" --connections 2 --verify --output csv >"$work/csv" 2>"$work/log" || {
    local code=$?
    cat "$work/log" >&2
    return "$code"
  }
  awk -F, '
    NR == 1     { for (i = 1; i <= NF; ++i) at[$i] = i }
    $1 == "all" { print $at["requests_per_second"], $at["keys_per_second"], $at["p50_us"] / 1000, $at["p99_us"] / 1000 }
  ' "$work/csv" >"$work/row"
}
run() {  # run <name> <workload> <eris bench arguments...>
  local name=$1
  shift
  load "$@"
  awk -v name="$name" '{ printf "%-22s %14.0f %14.0f %10.2f %10.2f\n", name, $1, $2, $3, $4 }' "$work/row"
}

run "load, 16384 a batch" load --batch 16384
run "lookup, 16384 a batch" lookup --batch 16384 --seconds "$seconds"
run "lookup, 256 a batch" lookup --batch 256 --in-flight 32 --seconds "$seconds"
run "upsert, 16384 a batch" upsert --batch 16384 --seconds "$seconds"
run "scan, 1000 rows" scan --scan-rows 1000 --seconds "$seconds"
run "scan, every row" scan --scan-rows 0 --requests 2

"$eris" stats --output json >"$work/stats.json"
# The program prints one member per line: an AEU's "keys" are those it has looked up or written, its "rows" those it
# holds.
echo
awk -F'"' -v expected="$keys" '
  BEGIN              { count = 0 }
  /"aeus": \[/       { part = "aeu" }
  /"numa_nodes": \[/ { part = "" }
  /"objects": \[/    { part = "object" }
  /"keys":/          { if (part == "aeu") { done[count] = $4; total_done += $4 } }
  /"rows":/          { if (part == "aeu") { held[count++] = $4; total += $4 } else object_keys += $4 }
  /"memory_bytes":/  { if (part == "object") object_bytes += $4 }
  END {
    for (i = 0; i < count; ++i)
      printf "AEU %-3d holds %10d keys, %5.1f %%; %5.1f %% of the keys asked for\n",
             i, held[i], 100 * held[i] / total, 100 * done[i] / total_done
    printf "%.1f bytes per key\n", object_bytes / object_keys
    if (total != expected || object_keys != expected) {
      printf "demo: %d keys held, the object says %d, %d expected\n", total, object_keys, expected
      exit 1
    }
  }' "$work/stats.json"


# An AEU's running sum of keys, one per line.
keys_done() {
  "$eris" stats --output json | awk -F'"' '
    /"aeus": \[/ { part = 1 } /"numa_nodes": \[/ { part = 0 } /"keys":/ && part { print $4 }'
}
# shares <sums before> <sums after>: each AEU's part of the keys in between.
shares() {
  paste "$1" "$2" | awk '{ done[NR] = $2 - $1; sum += done[NR] }
    END { for (i = 1; i <= NR; ++i) printf "%s AEU %d %5.1f %%", (i > 1 ? "," : ""), i - 1, 100 * done[i] / sum }'
}
# lookups <name> <seconds>: looks up the lower half of the keys, and prints which AEUs answered.
lookups() {
  keys_done >"$work/before"
  load lookup --batch 16384 --seconds "$2" --key-part 0.5
  keys_done >"$work/behind"
  printf '%-26s %12.0f keys/s  p99 %6.2f ms  %s\n' "$1" "$(cut -d' ' -f2 "$work/row")" \
    "$(cut -d' ' -f4 "$work/row")" "$(shares "$work/before" "$work/behind")"
}
echo
echo "now only keys of the lower half are asked for"
"$eris" balancer pause >/dev/null
lookups "balancer paused" "$seconds"
"$eris" balancer resume >/dev/null
lookups "balancer at work" "$seconds"
lookups "balanced" "$seconds"
"$eris" balancer history
echo
if stop_server; then
  echo "server stopped by SIGTERM, exit code 0"
else
  code=$?
  echo "demo: the server ended with exit code $code:" >&2
  cat "$work/server.log" >&2
  exit 1
fi
