#!/bin/sh
# Stands in for hvd-measure where only its launching is tested: a script beside it does each command.
command=$1
shift
exec "$(dirname "$0")/measure-$command.sh" "$@"
