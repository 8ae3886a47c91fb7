#!/bin/sh
# Virtual hosts on this machine: each has a kernel's namespaces of its own (network, name, shared
# memory, processes, mounts), /tmp, /dev/shm and an sshd. They see each other through a bridge in a namespace of
# its own; the network of this machine is untouched.
#
#   hosts.sh check             can that be done here? Says what is missing.
#   hosts.sh up DIR N [6]      hosts h1 .. hN; what they need to know lies in DIR; 6: with IPv6 only
#   hosts.sh exec DIR hK CMD   runs a command there
#   hosts.sh link DIR hK up|down   plugs its cable in or out
#   hosts.sh limit DIR hK RATE|none  what its cable carries at most, as tc names it (1gbit)
#   hosts.sh ps DIR hK         its processes
#   hosts.sh down DIR          nothing stays
#
# A host lives as long as its first process, whose number is in DIR/hK: the kernel ends all others.
set -eu

network=10.231.77. network6=fd77::  # only seen from inside
self=$(readlink -f "$0")

fail() { echo "hosts.sh: $*" >&2; exit 1; }

check() {
  for tool in ip unshare nsenter ssh ssh-keygen; do
    command -v "$tool" >/dev/null 2>&1 || fail "$tool is not installed"
  done
  [ -x /usr/sbin/sshd ] || fail "openssh-server is not installed"
  [ "$(id -u)" -eq 0 ] || fail "not root"
  unshare --net --uts --ipc --pid --mount --fork true 2>/dev/null || fail "no namespaces here"
  unshare --net ip link add name probe type bridge 2>/dev/null || fail "no bridges here"
}

inside() {  # HOLDER-FILE CMD...
  pid=$(cat "$1"); shift
  ${into:-} nsenter --target "$pid" --net --uts --ipc --pid --mount --wd="$PWD" -- "$@"
}

start_time() { cut -d' ' -f22 "/proc/$1/stat" 2>/dev/null || true; }

# Waits for the first process of new namespaces, and writes down its number.
hold() {  # FILE UNSHARE-OPTIONS...
  file=$1; shift
  # Its SIGCHLD is ignored: so it leaves no dead processes that nobody waits for.
  setsid unshare "$@" --fork --kill-child env --ignore-signal=CHLD sleep infinity </dev/null >/dev/null 2>&1 &
  parent=$!
  for _ in $(seq 200); do
    pid=$(cat "/proc/$parent/task/$parent/children" 2>/dev/null || true)
    pid=${pid%% *}
    if [ -n "$pid" ] && [ "$(readlink "/proc/$pid/ns/net")" != "$(readlink /proc/self/ns/net)" ] &&
       [ "$(cat "/proc/$pid/comm")" = sleep ]; then
      echo "$pid" >"$file"
      echo "$(start_time "$pid") $parent" >"$file.started"
      return 0
    fi
    sleep 0.01
  done
  fail "a host does not start"
}

make_keys() {  # DIR
  for name in host user; do ssh-keygen -q -t ed25519 -N '' -f "$1/key_$name"; done
  printf '[*]:22,* %s\n' "$(cut -d' ' -f1-2 "$1/key_host.pub")" >"$1/known_hosts"
  cp "$1/key_user.pub" "$1/authorized"
  cat >"$1/sshd_config" <<END
HostKey $1/key_host
AuthorizedKeysFile $1/authorized
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
MaxStartups 100
ClientAliveInterval 1
ClientAliveCountMax 3
AcceptEnv LANG
END
  cat >"$1/ssh_config" <<END
Host *
  User root
  IdentityFile $1/key_user
  IdentitiesOnly yes
  UserKnownHostsFile $1/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  ConnectTimeout 5
  LogLevel ERROR
END
}

# Runs in the new host: what makes it look like one.
settle() {  # DIR NAME
  hostname "$2"
  mount -t proc proc /proc
  mount -t sysfs sysfs /sys  # else the interfaces of this machine are seen
  mount -t tmpfs tmpfs /dev/shm
  # A /tmp of its own, but for what the test made there.
  mkdir -p "$1/tmp_$2"
  mount -t tmpfs tmpfs "$1/tmp_$2"
  for keep in "$1" ${HOSTS_SHARED:-}; do
    case $keep in
      /tmp/*) mkdir -p "$1/tmp_$2/${keep#/tmp/}"; mount --rbind "$keep" "$1/tmp_$2/${keep#/tmp/}" ;;
    esac
  done
  mount --move "$1/tmp_$2" /tmp 2>/dev/null || mount --rbind "$1/tmp_$2" /tmp
  mount --bind "$1/hosts" /etc/hosts
  mkdir -p /run/sshd
  /usr/sbin/sshd -f "$1/sshd_config"
}

up() {  # DIR N [6]
  dir=$1 count=$2 bits=24
  [ "${3:-4}" = 4 ] || network=$network6 bits="64 nodad"
  mkdir -p "$dir"
  make_keys "$dir"
  { echo "127.0.0.1 localhost"; echo "::1 localhost"
    for i in $(seq "$count"); do echo "$network$i h$i"; done; } >"$dir/hosts"
  hold "$dir/bridge" --net
  bridge="nsenter --target $(cat "$dir/bridge") --net"
  $bridge ip link add br0 type bridge
  $bridge ip link set br0 up
  for i in $(seq "$count"); do
    hold "$dir/h$i" --net --uts --ipc --pid --mount --propagation private
    pid=$(cat "$dir/h$i")
    $bridge ip link add "v$i" type veth peer name eth0 netns "$pid"
    $bridge ip link set "v$i" master br0 up
    in="nsenter --target $pid --net"
    $in ip link set lo up
    # shellcheck disable=SC2086
    $in ip addr add "$network$i"/$bits dev eth0
    $in ip link set eth0 up
    # As Docker's: the same address everywhere, and it leads nowhere.
    $in ip link add docker0 type veth peer name docker0p
    $in ip link set docker0p up
    $in ip addr add 172.17.0.1/16 dev docker0
    $in ip link set docker0 up
    inside "$dir/h$i" sh "$self" settle "$dir" "h$i"
  done
}

down() {  # DIR
  for file in "$1"/h[0-9]* "$1/bridge"; do
    case $file in *.started) continue ;; esac
    [ -f "$file" ] || continue
    pid=$(cat "$file")
    read -r started parent <"$file.started"
    # Nobody else's process that has got the number since.
    [ "$(start_time "$pid")" != "$started" ] || kill -9 "$pid" "$parent" 2>/dev/null || true
  done
  rm -rf "$1"
}

command=${1:-}
[ $# -eq 0 ] || shift
case $command in
  check) check ;;
  up) up "$@" ;;
  settle) settle "$@" ;;
  exec) dir=$1 host=$2; shift 2; into=exec; inside "$dir/$host" "$@" ;;
  link) inside "$1/$2" ip link set eth0 "$3" ;;
  limit)
    if [ "$3" != none ]; then
      inside "$1/$2" tc qdisc replace dev eth0 root tbf rate "$3" burst 256k latency 50ms
    elif inside "$1/$2" tc qdisc show dev eth0 | grep -q tbf; then
      inside "$1/$2" tc qdisc del dev eth0 root
    fi ;;
  ps) inside "$1/$2" ps -e -o pid=,args= ;;
  down) down "$1" ;;
  *) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
