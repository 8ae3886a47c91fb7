#!/bin/sh
# with_numbers.sh RANKS COMMAND...: its input is "0 1 ... 99"; it must print ten whole lines of
# each rank.
ranks=$1
shift
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
seq -s ' ' 0 99 | "$@" >"$out" || exit 1
[ "$(grep -c '^[0-9]* says line [0-9]$' "$out")" = $((10 * ranks)) ] && exit 0
echo "lines are missing or mixed:"
cat "$out"
exit 1
