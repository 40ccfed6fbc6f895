# hvd-measure.sh reads it for the command collectives: it reports rows, a link and the log of a ring, as the variable STAND_IN says. It
# sends nothing, and its figures are made up.
while [ $# -gt 0 ]; do
    case "$1" in
    --algorithm) methods=$(echo "$2" | tr , ' '); shift ;;
    --min-bytes) min=$2; shift ;;
    --max-bytes) max=$2; shift ;;
    --factor) factor=$2; shift ;;
    --iterations) iterations=$2; shift ;;
    --log-bytes) log=$2; shift ;;
    esac
    shift
done

topology "[0,1]"

case "$STAND_IN" in
hang) exec sleep 300 ;;
exit)
    if [ "$rank" = 1 ]; then echo "cannot send" >&2; exit 7; fi
    exec sleep 300 ;;
refuse)
    [ "$rank" = 0 ] && echo "hvd-measure collectives: nccl needs a GPU for each rank" >&2
    exit 2 ;;
esac

if [ "$rank" = 0 ]; then
    rows=
    for bytes in 512 1024 1048576; do
        rows="$rows${rows:+,}{\"bytes\":$bytes,\"one_way_s\":${bytes}e-9,\"exchange_s\":${bytes}e-9,\"sum_s\":${bytes}e-10}"
    done
    [ "$size" -gt 1 ] && event "\"event\":\"link\",\"rows\":[$rows]"
    echo "# the program's own table"
    for method in $methods; do
        bytes=$min
        while [ "$bytes" -le "$max" ]; do
            # A ring of two takes the time of all bytes, and adds half of them.
            time="$((bytes * 105))e-11"
            event "\"event\":\"allreduce\",\"method\":\"$method\",\"bytes\":$bytes,\"elements\":$((bytes / 4)),\
\"iterations\":$iterations,\"mean_s\":$time,\"median_s\":$time,\"min_s\":$time,\"max_s\":$time,\"wrong\":${STAND_IN_WRONG:-0}"
            bytes=$((bytes * factor))
            [ "$factor" -lt 2 ] && break
        done
    done
fi
if [ -n "$log" ] && [ "$size" = 2 ]; then
    half=$((log / 8))
    all=$((log / 4))
    other=$((1 - rank))
    # In the first round each rank sends its own part, in the second the sum of the other's.
    first="\"start\":$((other * half)),\"end\":$((other == 1 ? all : half))"
    second="\"start\":$((rank * half)),\"end\":$((rank == 1 ? all : half))"
    event "\"event\":\"messages\",\"method\":\"ring\",\"elements\":$all,\"part\":0,\"messages\":[\
{\"round\":0,\"from\":$other,\"to\":$rank,$first,\"operation\":\"reduce\",\"began_s\":0.0,\"ended_s\":1e-5},\
{\"round\":1,\"from\":$other,\"to\":$rank,$second,\"operation\":\"copy\",\"began_s\":1.1e-5,\"ended_s\":2e-5}]"
fi
event "\"event\":\"finished\",\"epochs\":0,\"training_seconds\":0,\"total_seconds\":1"
