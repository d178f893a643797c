#!/bin/sh
# A hook of pre-commit: validates each directory that contains one of the given files. With --init as the first argument, installs the
# modules and providers of the directory before, without its backend.
set -eu
init=false
if [ "${1:-}" = --init ]; then init=true; shift; fi
failed=0
# Files of tests belong to the module above their directory. A line is one directory, whatever its name contains.
directories=$(for file in "$@"; do dirname -- "$file"; done | sed 's|^tests$|.|; s|/tests$||' | sort -u)
IFS='
'
for directory in $directories; do
  if $init; then
    yuba -chdir="$directory" init -backend=false -input=false > /dev/null || { failed=1; continue; }
  fi
  yuba -chdir="$directory" validate || failed=1
done
exit "$failed"
