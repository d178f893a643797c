#!/bin/sh
# Downloads a released tarball of Yuba, verifies its checksum and installs it below a prefix. Pipelines run it; people can, too.
#
# usage: install.sh URL VERSION PREFIX
#   URL      the directory with the packages and SHA256SUMS of this version
#   VERSION  for example 0.2.0
#   PREFIX   for example ~/.local
set -eu
[ $# -eq 3 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
url=${1%/} version=${2#v} prefix=$3
case "$prefix" in
  /*) ;;
  *) prefix=$PWD/$prefix ;;
esac

case "${YUBA_TARGET:-$(uname -s)-$(uname -m)}" in
  Linux-x86_64 | Linux-amd64) target=x86_64-unknown-linux-musl ;;
  Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-musl ;;
  *-*-*) target=$YUBA_TARGET ;;
  *) echo "install.sh: no package exists for $(uname -s) on $(uname -m). Build Yuba from source: cargo install --locked --path crates/cli" >&2; exit 1 ;;
esac

name=yuba-$version-$target.tar.gz
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
for file in SHA256SUMS "$name"; do
  curl --fail --silent --show-error --location --retry 3 --output "$file" "$url/$file"
done
awk -v name="$name" '$2 == name && NF == 2 { print; found = 1 } END { exit !found }' SHA256SUMS > sums || { echo "install.sh: SHA256SUMS does not list $name" >&2; exit 1; }
if command -v sha256sum > /dev/null; then sha256sum -c sums > /dev/null; else shasum -a 256 -c sums > /dev/null; fi
mkdir -p "$prefix"
tar -xzf "$name" --strip-components=1 -C "$prefix"
"$prefix/bin/yuba" version
