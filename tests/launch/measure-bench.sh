# hvd-measure.sh reads it for the command bench: it reports its place and iterations of a second each, as the variable STAND_IN says.
# It trains nothing.
all="$*"
while [ $# -gt 0 ]; do
    case "$1" in
    --batch-size) batch=$2; shift ;;
    --num-iters) iterations=$2; shift ;;
    --num-batches-per-iter) batches=$2; shift ;;
    esac
    shift
done

topology "[$rank]"

case "$STAND_IN" in
hang) exec sleep 300 ;;
exit)
    if [ "$rank" = 1 ]; then echo "cannot train" >&2; exit 7; fi
    exec sleep 300 ;;
esac

event "\"event\":\"placement\",\"host\":\"node\",\"cores\":[$rank],\"nodes\":[0],\"running_on\":$rank,\"memory\":\"local\",\
\"threads\":1,\"device\":\"cpu\""
[ "$rank" = 0 ] && echo "Flags: $all" && printf 'Step\tImg/sec\ttotal_loss\n'
images=$((batch * batches))
iteration=1
while [ "$iteration" -le "$iterations" ]; do
    [ "$rank" = 0 ] && echo "Iter #$((iteration - 1)): $images.0 img/sec per CPU"
    event "\"event\":\"iteration\",\"iteration\":$iteration,\"of\":$iterations,\"batches\":$batches,\"images\":$images,\
\"seconds\":1.0,\"images_per_sec\":$((images * size)),\"loss\":null,\"phases\":{\"training\":1.0,\"allreduce_exposed\":0.25}"
    iteration=$((iteration + 1))
done
[ "$STAND_IN" = linger ] && exec sleep 300
event "\"event\":\"finished\",\"epochs\":0,\"training_seconds\":$iterations,\"total_seconds\":1"
