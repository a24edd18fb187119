#!/usr/bin/env bash
# What `cargo test --workspace` costs a clean clone: CPU seconds (user and system, with those of
# every process started) of the build, of each test executable, and of the documentation tests.
#
#   docs/scripts/suite.sh             everything, in an empty target folder (target/suite)
#   docs/scripts/suite.sh --warm      the same in that folder as it is: what a second run costs
#
# CPU time changes little with the load of the machine. Cargo starts each test executable through
# this script, which notes what it took.
set -euo pipefail

if [ "${1-}" = --timed ]; then
    executable=$(basename "$2" | sed 's/-[0-9a-f]\{16\}$//')
    shift
    set -- "$(dirname "$0")/../../.cargo/run" "$@"
    TIMEFORMAT="%U %S %R $executable"
    status=0
    { time "$@" 2>&3 3>&-; } 3>&2 2>>"$SUITE_TIMES" || status=$?
    exit "$status"
fi

cd "$(dirname "$0")/../.."
export CARGO_TARGET_DIR="$PWD/target/suite"
[ "${1-}" = --warm ] || rm -rf "$CARGO_TARGET_DIR"
mkdir -p "$CARGO_TARGET_DIR"
export SUITE_TIMES="$CARGO_TARGET_DIR/times"
: >"$SUITE_TIMES"

TIMEFORMAT='%U %S %R the build'
{ time cargo test --workspace --no-run --quiet 2>&3; } 3>&2 2>>"$SUITE_TIMES"

status=0
host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
export "CARGO_TARGET_${host}_RUNNER=$PWD/docs/scripts/suite.sh --timed"
cargo test --workspace --no-fail-fast --tests --examples || status=$?

TIMEFORMAT='%U %S %R the documentation tests'
{ time cargo test --workspace --no-fail-fast --doc 2>&3; } 3>&2 2>>"$SUITE_TIMES" || status=$?

printf '\n%10s %10s  %s\n' 'CPU (s)' 'wall (s)' 'what'
awk '{ cpu = $1 + $2; wall = $3; $1 = $2 = $3 = ""; printf "%10.1f %10.1f %s\n", cpu, wall, $0
       all += cpu; elapsed += wall }
     END { printf "%10.1f %10.1f  in all\n", all, elapsed }' "$SUITE_TIMES" | sort -rn
exit "$status"
