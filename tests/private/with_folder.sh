#!/bin/sh
# with_folder.sh COMMAND...: runs it with a folder that is empty at its start as the argument
# FOLDER.
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
for word; do
  shift
  [ "$word" = FOLDER ] && word=$folder
  set -- "$@" "$word"
done
"$@"
