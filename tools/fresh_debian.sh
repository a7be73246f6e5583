#!/usr/bin/env bash
# Proves that a clone works on a machine that has nothing: makes a Debian 12 root with debootstrap, clones this
# checkout into it and runs `./run demo` and `./run test` inside. Needs root, debootstrap, git and about 6 GB of disk.
#
#   tools/fresh_debian.sh [--keep] [--folder DIR] [COMMAND…]
#
#   --keep        leave the root folder standing (it is printed)
#   --folder DIR  where to make it (default: a new folder under TMPDIR or /tmp); a root kept there is used again
#   COMMAND…      what to run inside instead, each one a string for bash: tools/fresh_debian.sh './run setup'
#
# Only what is committed is tested. The package mirror, its keys, certificates and apt's settings are those of this
# machine, which must itself be a Debian 12.
set -euo pipefail

readonly RELEASE=bookworm
readonly CHECKOUT=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")

say() { printf 'fresh_debian: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

# "URI CODENAME" of each Debian source of this machine's apt that has the release's main part.
find_sources() {
  apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(REPO_URI) $(CODENAME)' 'Created-By: Packages' |
    sed -n "s/^Debian main \\(.* $RELEASE.*\\)$/\\1/p"
}

# Copies PATH of this machine, if it is there, to the same place in the root.
copy_in() {
  [[ -e $1 ]] || return 0
  mkdir -p "$root$(dirname "$1")"
  cp -rL "$1" "$root$(dirname "$1")/"
}

# apt inside must reach the same mirror the same way. Passwords (auth.conf) stay outside.
copy_apt_settings() {
  local path
  find_sources | sed 's/^\(.*\)$/deb \1 main/' >"$root/etc/apt/sources.list"
  for path in /etc/apt/trusted.gpg.d /etc/resolv.conf /etc/hosts /etc/ssl/certs /usr/local/share/ca-certificates; do
    copy_in "$path"
  done
  apt-config dump | grep -iE '^Acquire::(Check-|[a-z]+::(Proxy|CaInfo|CaPath|Verify))' \
    >"$root/etc/apt/apt.conf.d/90from-outside" || true
}

make_root() {
  if [[ -x $root/usr/bin/apt-get ]]; then
    say "using the root in $root"
    return
  fi
  local mirror
  mirror=$(find_sources | sed -n "s/ $RELEASE\$//p" | head -n 1)
  [[ -n $mirror ]] || die "this machine's apt has no source for Debian 12 ($RELEASE main)"
  say "debootstrap into $root"
  debootstrap --variant=minbase "$RELEASE" "$root" "$mirror" >"$root.debootstrap.log" 2>&1 || {
    tail -n 20 "$root.debootstrap.log" >&2
    die "debootstrap failed; the whole output is in $root.debootstrap.log"
  }
  rm -f "$root.debootstrap.log"
  copy_apt_settings
}

mount_inside() {
  mkdir -p "$root/proc" "$root/dev" "$root/dev/shm" "$root/tmp"
  mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
  mountpoint -q "$root/dev/shm" || mount -t tmpfs -o size=1g tmpfs "$root/dev/shm"
  local device
  for device in null zero full random urandom tty; do
    [[ -c $root/dev/$device ]] || cp -a "/dev/$device" "$root/dev/$device"
  done
}

unmount_inside() {
  local place
  for place in proc dev/shm; do
    if mountpoint -q "$root/$place"; then umount "$root/$place" || umount -l "$root/$place"; fi
  done
}

# Runs one command in the clone inside, with a bare environment, and prints how long it took.
run_inside() {
  local start=$SECONDS
  say "inside: $1"
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CI=true \
    bash -c "cd /root/owlet && $1" || die "failed inside after $((SECONDS - start)) s: $1"
  say "took $((SECONDS - start)) s: $1"
}

cleanup() {
  unmount_inside
  if [[ $keep == yes ]]; then
    say "the root stays in $root"
  elif mountpoint -q "$root/proc" || mountpoint -q "$root/dev/shm"; then
    say "$root is still mounted and stays"
  else
    rm -rf --one-file-system "$root"
  fi
}

keep=no
root=
while [[ ${1:-} == --* ]]; do
  case "$1" in
    --keep) keep=yes ;;
    --folder)
      root=${2:?--folder needs a folder}
      shift
      ;;
    *) die "unknown option $1" ;;
  esac
  shift
done
commands=("$@")
[[ ${#commands[@]} -gt 0 ]] || commands=("./run demo" "./run test")

[[ $EUID -eq 0 ]] || die "needs root (debootstrap and chroot)"
for program in debootstrap git chroot mountpoint; do
  command -v "$program" >/dev/null || die "$program is missing: apt-get install debootstrap git"
done
if [[ -n $root ]]; then
  [[ ! -e $root || -x $root/usr/bin/apt-get || -z $(ls -A "$root") ]] || die "$root is neither empty nor a root made before"
  mkdir -p "$root"
  root=$(readlink -f "$root")
  [[ $root != / ]] || die "the root folder cannot be /"
else
  root=$(mktemp -d "${TMPDIR:-/tmp}/owlet-debian-XXXXXX")
fi
trap cleanup EXIT

started=$SECONDS
make_root
say "took $((SECONDS - started)) s: the fresh root"
rm -rf "$root/root/owlet"
git -c safe.directory='*' clone --quiet --no-hardlinks "$CHECKOUT" "$root/root/owlet"
mount_inside
for command in "${commands[@]}"; do
  run_inside "$command"
done
say "took $((SECONDS - started)) s in all; everything passed"
