#!/bin/sh
# Makes the secrets of compose.yaml that are not there yet, and leaves those that are. The folder is its owner's alone; a
# file in it is for the user of whichever container it is mounted in, and each container gets only its own.
set -eu
umask 077
folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
chmod 700 "$folder"

# Made beside and moved, so that what is there is whole.
make() {
  [ -e "$folder/$1" ] && return
  name=$1
  shift
  "$@" > "$folder/$name.new"
  chmod 444 "$folder/$name.new"
  mv "$folder/$name.new" "$folder/$name"
  echo "made $folder/$name"
}

# The event log of `docker compose up`; for others (a cluster, users with passwords) write it before, or over it.
make event-log echo "esdb://eventstoredb:2113?tls=false"
# Signs seals: keep a copy of it elsewhere.
make seal-key openssl genpkey -algorithm ed25519
# Of Grafana's user `admin`.
make grafana-password openssl rand -hex 24
