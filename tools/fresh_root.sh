#!/usr/bin/env bash
# Proves that the repository needs only a bare Debian 12: makes a minbase root with debootstrap, clones the last commit
# into it, and runs verbs of ./dev there with only that root's own tools.
#
# usage: tools/fresh_root.sh [-k] [-d folder] [-s suite] [verb...]      (as root; default verbs: demo test)
#   -d folder  where the root is made (default: a new folder under ${TMPDIR:-/tmp})
#   -s suite   another Debian, such as bullseye: nothing is built there, but wheels may be tried (verb: help)
#   -k         keep the root; with -d an existing root is used again, its clone made anew
# Prints the seconds of each verb; exit status 1 if one failed. apt sources, certificates, name
# resolution and settings in the environment (proxies, PIP_*, GO*) are taken from this machine.
set -euo pipefail
repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

die() { printf 'fresh_root: %s\n' "$*" >&2; exit 1; }

keep=0 root="" suite=bookworm
while getopts "kd:s:h" option; do
  case "$option" in
    k) keep=1 ;;
    d) root="$OPTARG" ;;
    s) suite="$OPTARG" ;;
    *) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 1 ;;
  esac
done
shift $((OPTIND - 1))
(($#)) || set -- demo test
((EUID == 0)) || die "needs root (debootstrap, chroot, mount)"
command -v debootstrap > /dev/null || die "needs debootstrap: apt-get install debootstrap"
[[ -n "$root" ]] || root="$(mktemp -d "${TMPDIR:-/tmp}/eris-root.XXXXXX")"
mkdir -p "$root"

mounted=()
cleanup() {
  local point
  for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do umount -l "${mounted[i]}" || true; done
  if ((!keep)); then
    # Never remove through a mount that could not be unmounted.
    for point in proc sys dev; do mountpoint -q "$root/$point" && { echo "fresh_root: $root stays, $point is mounted" >&2; return; }; done
    rm -rf --one-file-system "$root"
  else
    echo "fresh_root: kept $root"
  fi
}
trap cleanup EXIT

# The first apt source of this machine that offers Debian 12 itself.
mirror="$( { sed -n 's/^URIs: *\([^ ]*\).*/\1/p' /etc/apt/sources.list.d/*.sources
             sed -n 's/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) bookworm .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/*.list
           } 2> /dev/null | head -n 1 || true)"
mirror="${mirror:-http://deb.debian.org/debian}"

started=$SECONDS
if [[ ! -x "$root/usr/bin/apt-get" ]]; then
  echo "fresh_root: debootstrap --variant=minbase $suite"
  debootstrap --variant=minbase "$suite" "$root" "$mirror" > "$root.log" 2>&1 || { tail -n 20 "$root.log"; die "debootstrap failed"; }
  rm -f "$root.log"
fi
printf 'fresh_root: %-10s %6d s\n' root "$((SECONDS - started))"

# From this machine: package sources, trusted certificates, name resolution.
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
for source in /etc/apt/sources.list.d/debian*.sources; do
  [[ -f "$source" && "$suite" == bookworm ]] && cp "$source" "$root/etc/apt/sources.list.d/" && : > "$root/etc/apt/sources.list"
done
{ grep -liE '^ *Acquire' /etc/apt/apt.conf /etc/apt/apt.conf.d/* 2> /dev/null || true; } | { grep -v docker || true; } | while read -r file; do
  cp "$file" "$root/etc/apt/apt.conf.d/"
done
if [[ -f /etc/ssl/certs/ca-certificates.crt ]]; then
  mkdir -p "$root/etc/ssl/certs" "$root/usr/local/share/ca-certificates"
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/" 2> /dev/null || true
fi
[[ -f /etc/pip.conf ]] && cp /etc/pip.conf "$root/etc/pip.conf"

mount -t proc proc "$root/proc"; mounted+=("$root/proc")
mount --rbind /sys "$root/sys"; mount --make-rslave "$root/sys"; mounted+=("$root/sys")
mount --rbind /dev "$root/dev"; mount --make-rslave "$root/dev"; mounted+=("$root/dev")

rm -rf "$root/src/eris"; mkdir -p "$root/src"
git clone -q --no-hardlinks "$repository" "$root/src/eris"
echo "fresh_root: commit $(git -C "$root/src/eris" rev-parse --short HEAD)"

# Only settings for a proxy, a registry or a certificate are copied, and the two that CI sets.
settings=(HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
while IFS='=' read -r name value; do
  case "$name" in
    *_proxy|*_PROXY|PIP_*|GOPROXY|GOFLAGS|GONOSUMDB|GOSUMDB|GONOSUMCHECK|SSL_CERT_*|*_CA_BUNDLE|CI|ERIS_*)
      settings+=("$name=$value") ;;
  esac
done < <(env)

status=0
for verb in "$@"; do
  started=$SECONDS
  echo "fresh_root: ./dev $verb"
  chroot "$root" env -i "${settings[@]}" bash -c 'cd /src/eris && exec ./dev "$@"' bash $verb || { status=1; echo "fresh_root: ./dev $verb FAILED"; }
  printf 'fresh_root: %-10s %6d s\n' "$verb" "$((SECONDS - started))"
done
exit $status
