#!/bin/sh
# Stands in for launchers that are not installed: speaks as Open MPI 4 or MPICH (variable FAKE_MPI) about real processes.
# `deaf` is one that does not notice when a process dies; `silent` and `endless` do not even say their version.
if [ "$1" = --version ]; then
    case "$FAKE_MPI" in
    4 | deaf) printf 'mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n' ;;
    silent) exec sleep 300 ;;
    endless) exec yes ;;
    mpich) printf 'HYDRA build details:\n    Version:                                 4.0.2\n' ;;
    *) echo 'a launcher of another kind 1.0' ;;
    esac
    exit
fi
np=1
while [ $# -gt 0 ]; do
    case "$1" in
    -np) np=$2; shift 2 ;;
    --mca) shift 3 ;;
    --bind-to | -bind-to | -H | --hostfile | -hosts | -f | -x) shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done

folder=$(mktemp -d)
trap 'kill $pids 2>/dev/null; rm -rf "$folder"; exit 143' TERM
rank=0
while [ $rank -lt "$np" ]; do
    case "$FAKE_MPI" in
    4 | deaf) tag="[1,$rank]<stdout>:" ;;
    *) tag="[$rank] " ;;
    esac
    mkfifo "$folder/$rank"
    sed -u "s/^/$tag/" < "$folder/$rank" &
    sorters="$sorters $!"
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=$np "$@" > "$folder/$rank" 2>&1 &
    pids="$pids $!"
    rank=$((rank + 1))
done

[ "$FAKE_MPI" = deaf ] && wait $pids
# The first that fails, in whatever order they end.
code=0
left=$pids
while [ -n "$left" ] && [ $code = 0 ]; do
    rank=0
    left=
    for pid in $pids; do
        if ! kill -0 "$pid" 2>/dev/null; then
            # A process can be waited for only once.
            case " $ended " in *" $pid "*) rank=$((rank + 1)); continue ;; esac
            ended="$ended $pid"
            wait "$pid"
            code=$?
            [ $code != 0 ] && failed=$rank && failed_pid=$pid && break
        else
            left="$left $pid"
        fi
        rank=$((rank + 1))
    done
    sleep 0.05
done
kill $left 2>/dev/null
wait $sorters
rm -rf "$folder"
[ $code = 0 ] && exit 0
signal=$((code - 128))
if [ "$FAKE_MPI" = 4 ] && [ $signal -gt 0 ]; then
    echo "mpirun noticed that process rank $failed with PID $failed_pid on node here exited on signal $signal (Killed)." >&2
elif [ "$FAKE_MPI" = 4 ]; then
    printf 'mpirun detected that one or more processes exited with non-zero status. The first process to do so was:\n\n' >&2
    printf '  Process name: [[4242,1],%s]\n  Exit code:    %s\n' "$failed" "$code" >&2
else
    [ $signal -gt 0 ] && code=$signal
    echo "===================================================================================" >&2
    echo "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES" >&2
    echo "=   PID $failed_pid RUNNING AT here" >&2
    echo "=   EXIT CODE: $code" >&2
    echo "=   CLEANING UP REMAINING PROCESSES" >&2
    [ $signal -gt 0 ] && echo "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal $signal)" >&2
fi
exit $code
