#!/bin/sh
# Downloads a released tarball of Yuba, verifies its checksum and installs it below a prefix. Releases contain a copy of this script in
# which `cargo xtask release build` sets the defaults, so that `curl -fsSL URL/install.sh | sh` installs that release.
set -eu
default_url=''
default_version=''

usage() {
  cat >&2 << 'END'
usage: install.sh [URL [VERSION [PREFIX]]]
  URL      The directory with the packages and SHA256SUMS of this version.
  VERSION  For example 0.2.0.
  PREFIX   The directory for bin and share. Default: ~/.local

YUBA_TARGET selects a package, for example x86_64-unknown-linux-gnu. YUBA_PREFIX sets the default of PREFIX.
END
  exit 2
}

case "${1-}" in -*) usage ;; esac
[ $# -le 3 ] || usage
url=${1:-$default_url} version=${2:-$default_version} prefix=${3:-${YUBA_PREFIX:-${HOME:-}/.local}}
[ -n "$url" ] && [ -n "$version" ] || usage
url=${url%/} version=${version#v}
case "$prefix" in /*) ;; *) prefix=$PWD/$prefix ;; esac

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

# Static binaries run on every Linux. A release without them has binaries for glibc.
case "${YUBA_TARGET:-$(uname -s)-$(uname -m)}" in
  Linux-x86_64 | Linux-amd64) targets='x86_64-unknown-linux-musl x86_64-unknown-linux-gnu' ;;
  Linux-aarch64 | Linux-arm64) targets='aarch64-unknown-linux-musl aarch64-unknown-linux-gnu' ;;
  *-*-*) targets=$YUBA_TARGET ;;
  *) fail "no package exists for $(uname -s) on $(uname -m). Build Yuba from source: cargo install --locked --path crates/cli" ;;
esac

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
download() {
  curl --fail --silent --show-error --location --retry 3 --output "$directory/$1" "$url/$1" || fail "failed to download $url/$1"
}

download SHA256SUMS
name=
for target in $targets; do
  package=yuba-$version-$target.tar.gz
  if awk -v name="$package" '$2 == name && NF == 2 { print; found = 1 } END { exit !found }' "$directory/SHA256SUMS" > "$directory/sums"; then
    name=$package
    break
  fi
done
[ -n "$name" ] || fail "$url/SHA256SUMS lists no package of version $version for $targets"
download "$name"
if command -v sha256sum > /dev/null; then check='sha256sum -c sums'; else check='shasum -a 256 -c sums'; fi
(cd "$directory" && $check > /dev/null 2>&1) || fail "the checksum of $name differs from the one in $url/SHA256SUMS"

mkdir -p "$prefix"
tar -xzf "$directory/$name" --strip-components=1 -C "$prefix"
"$prefix/bin/yuba" version
case ":${PATH:-}:" in
  *":$prefix/bin:"*) ;;
  *) echo "Add $prefix/bin to PATH to run yuba." ;;
esac
