#!/bin/sh
# Stands in for hvd-measure where only its launching is tested: a script beside it does each command, with what is here.
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-0}}}
size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-1}}

event() { echo "@hvd ${HVD_LAB_EVENT_SECRET:+$HVD_LAB_EVENT_SECRET }{\"time_s\":$(date +%s.%N),\"process\":$rank,$1}"; }

# The cores, as JSON.
topology() {
    event "\"event\":\"topology\",\"rank\":$rank,\"size\":$size,\"local_rank\":$rank,\"local_size\":$size,\"host\":\"$(hostname)\",\
\"pid\":$$,\"communicator\":\"mpi\",\"device\":\"cpu\",\"device_uuid\":null,\"cores\":$1,\"threads\":1,\"versions\":[\"stand-in 1\"]"
}

script="$(dirname "$0")/measure-$1.sh"
shift
. "$script"
