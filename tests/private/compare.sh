#!/bin/sh
# compare.sh RUN RANKS PROGRAM [ARGUMENT...]: what each rank prints must be what the program
# prints when it runs alone. Lines may begin with the rank's number, which is taken off.
run=$1 ranks=$2
shift 2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
timeout -k 1 50 env ${MPC_TEST_ALONE_PRELOAD:+"LD_PRELOAD=$MPC_TEST_ALONE_PRELOAD"} "$@" >"$dir/alone" 2>&1
echo "status $?" >>"$dir/alone"
timeout -k 1 50 "$run" -n 1 "$@" >"$dir/one" 2>&1
echo "status $?" >>"$dir/one"
diff "$dir/alone" "$dir/one" || { echo "one rank prints something else"; exit 1; }
[ "$ranks" -gt 1 ] || exit 0
timeout -k 1 50 "$run" -n "$ranks" "$@" >"$dir/many" 2>&1 || { cat "$dir/many"; exit 1; }
grep -v '^status' "$dir/alone" >"$dir/expected"
rank=0
while [ $rank -lt "$ranks" ]; do
  sed -n "s/^$rank /0 /p" "$dir/many" >"$dir/rank"
  diff "$dir/expected" "$dir/rank" || { echo "rank $rank prints something else"; exit 1; }
  rank=$((rank + 1))
done
