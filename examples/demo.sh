# `./run demo`: compiles the examples with mpcc and runs them. Read by ./run, whose functions it uses.

# Each example: file, ranks, and "fails" when a failing job is what it shows.
demo() {
  stage release
  PATH=$prefix/bin:$PATH
  out=$root/build/demo
  mkdir -p "$out"
  example hello.c 4
  example ring.c 16
  example ring.c 4096
  example globals.c 8
  example globals.cpp 8
  example globals_f.f 8
  example stencil.c 4
  example pi.c 8
  example datatype.c 4
  example threads.c 4
  example own_collective.c 8
  example crash.c 2 fails
  example deadlock.c 4 fails
  experiment
  printf '\n'
  say "that was all: unmodified MPI programs, each rank a thread with globals of its own"
  say "next: ./run install PREFIX, or ./run test"
}

# A collective that overlaps with computation on 64 cores, for every number of ranks and S.
experiment() {
  printf '\n'
  say "overlap on a KNL with 64 cores, simulated: Ireduce of 2 MB, N ranks, the other cores communicate"
  printf '$ mpcinfo simulate --machine knl64 --op ireduce\n'
  timeout 120 mpcinfo simulate --machine knl64 --op ireduce >"$out/knl64.out" 2>&1 ||
    fail "mpcinfo: $(tail -n 1 "$out/knl64.out")"
  tail -n 14 "$out/knl64.out"
  command -v gnuplot >/dev/null 2>&1 || return 0
  timeout 120 mpcinfo simulate --machine knl64 --op ireduce --plot "$out/knl64-ireduce.svg" \
    >/dev/null || fail "mpcinfo could not draw"
  say "picture: $out/knl64-ireduce.svg (docs/overlap.md explains it)"
}

example() {
  source=examples/$1
  program=${1%.*}
  [ -f "$source" ] || { say "no $source"; return 0; }
  case $1 in
    *.cpp) compiler=mpcxx program=${program}_cpp ;;
    *.f | *.f90) compiler=mpcfort ;;
    *) compiler=mpcc ;;
  esac
  printf '\n'
  say "$(head_comment "$source")"
  printf '$ %s -O2 %s -o %s -lm\n$ mpcrun -n %s ./%s\n' "$compiler" "$source" "$program" "$2" "$program"
  "$compiler" -O2 "$source" -o "$out/$program" -lm || fail "$compiler cannot compile $source"
  status=0
  (cd "$out" && timeout 120 mpcrun -n "$2" "./$program" >"$program.out" 2>&1) || status=$?
  head -n 20 "$out/$program.out"
  lines=$(wc -l <"$out/$program.out")
  [ "$lines" -le 20 ] || printf '... %s more lines\n' "$((lines - 20))"
  if [ "${3:-}" = fails ]; then
    printf '(exit status %s)\n' "$status"
    [ "$status" -ne 0 ] || fail "$program should have ended with a non-zero status"
  else
    [ "$status" -eq 0 ] || fail "$program ended with status $status"
  fi
}

# The comment that a source file begins with, on one line.
head_comment() {
  sed -n -e '/^ *\/\*/,/\*\//p' -e '/\*\//q' -e 's/^\/\/ *//p' -e '/^ *$/q' -e '/^#/q' \
    -e 's/^C  *//p' -e '/^   /q' "$1" | sed -e 's/^ *\/\* *//' -e 's/\*\///' -e 's/^ \* *//' |
    tr '\n' ' ' | tr -s ' '
}
