# What cases of using this MPI by the names of others begin with: `.` of it makes an empty folder, $dir, and defines how
# a case fails, or is left out. PATH is set by the script that reads it.
# shellcheck shell=sh
# Another MPI of this machine shall not be found instead.
PKG_CONFIG_LIBDIR=/nonexistent
export PKG_CONFIG_LIBDIR
unset CC CXX FC F77 CFLAGS LDFLAGS MPICC MPI_HOME
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }
need() { command -v "$1" >/dev/null || left_out "$1 is not installed"; }
# Where `./run` has installed all that it needs (./run fresh), nothing may be missing.
left_out() { echo "$1"; [ -z "${MPC_TEST_STRICT:-}" ] || exit 1; exit 77; }
has() { case $1 in *"$2"*) ;; *) fail "'$2' is missing in: $1" ;; esac; }
is() { [ "$1" = "$2" ] || fail "'$1' is not '$2'"; }
