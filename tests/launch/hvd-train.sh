#!/bin/sh
# Stands in for hvd-train where only its launching is tested: prints the lines and events of a small run, as the
# variable STAND_IN says. It trains nothing, and its figures are made up.
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-0}}}
size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-1}}
epochs=3
previous=
for word in "$@"; do
    [ "$previous" = --epochs ] && epochs=$word
    [ "$previous" = --log-dir ] && logs=$word
    previous=$word
done

# What the trainer writes is its user's alone, or the group's.
if [ -n "$HVD_LAB_GROUP" ]; then umask 007; else umask 077; fi

event() { echo "@hvd ${HVD_LAB_EVENT_SECRET:+$HVD_LAB_EVENT_SECRET }{\"time_s\":$(date +%s.%N),\"process\":$rank,$1}"; }
metrics() { echo "{\"loss\":0.5,\"accuracy\":$1}"; }

resume=0
while [ -f "$logs/checkpoint-$((resume + 1)).safetensors" ]; do resume=$((resume + 1)); done

# The loader has ended it, and the launcher has lost its last line: what is left is a remark.
if [ "$STAND_IN" = remark ]; then
    echo "$0: $FOREIGN/libstdc++.so.6: no version information available (required by $0)" >&2
    exit 127
fi

# Rank 1 never gets as far as to report.
[ "$STAND_IN" = mute ] && [ "$rank" = 1 ] && exec sleep 300

event "\"event\":\"topology\",\"rank\":$rank,\"size\":$size,\"local_rank\":$rank,\"local_size\":$size,\"host\":\"$(hostname)\",\
\"pid\":$$,\"communicator\":\"mpi\",\"device\":\"cpu\",\"device_uuid\":null,\"cores\":[0],\"threads\":1,\"versions\":[\"stand-in 1\"]"
event "\"event\":\"config\",\"steps\":\"1-10\",\"seed\":1,\"epochs\":$epochs,\"resume_epoch\":$resume,\"local_batch_size\":64,\
\"global_batch_size\":128,\"steps_per_epoch\":10,\"validation_steps\":1,\"train_images\":640,\"optimizer\":\"NovoGrad\",\
\"model\":\"wrn-10-1\",\"parameters\":1,\"gradient_tensors\":1,\"data\":\"generated\",\"base_lr\":0.01,\"warmup_epochs\":5,\
\"target_accuracy\":0.85"

case "$STAND_IN" in
hang) # until a signal comes; the shell's own default for SIGTERM applies
    [ "$rank" = 0 ] && echo "waiting"
    exec sleep 300 ;;
chatter) # 1,000 lines a second, for five minutes
    turn=0
    while [ $turn -lt 3000 ]; do
        awk -v turn=$turn 'BEGIN { for (i = 0; i < 100; i++) print "Epoch 1/3: step " turn * 100 + i "  loss 0.512 of a long line" }'
        sleep 0.1
        turn=$((turn + 1))
    done ;;
stubborn) # neither SIGTERM nor SIGINT ends it
    trap '' TERM INT
    [ "$rank" = 0 ] && echo "waiting"
    end=$(($(date +%s) + 120))
    while [ "$(date +%s)" -lt $end ]; do sleep 1; done ;;
orphan) # leaves a child behind, with a session and an environment of its own
    env -i setsid sh -c 'echo $$ > "$0.new"; mv "$0.new" "$0"; exec sleep 300' "$ORPHANS/$rank" > /dev/null 2>&1 &
    while [ ! -e "$ORPHANS/$rank" ]; do sleep 0.05; done ;;
slow) # works for 20 s by the clock, however little of a core it gets, and says nothing meanwhile
    python3 -c 'from time import monotonic as now
end = now() + 20
while now() < end: pass' ;;
fatal)
    if [ "$rank" = 1 ]; then
        echo "about to fail"
        event "\"event\":\"fatal\",\"during\":\"epoch 1\",\"cause\":\"the loss is not a number\""
        exit 3
    fi
    exec sleep 300 ;;
exit)
    if [ "$rank" = 1 ]; then echo "error: unexpected argument" >&2; exit 7; fi
    exec sleep 300 ;;
flood)
    awk 'BEGIN { for (i = 0; i < 200000; i++) print "line " i " of a log that is far too long" }' ;;
esac

epoch=$resume
while [ $epoch -lt "$epochs" ]; do
    epoch=$((epoch + 1))
    [ "$rank" = 0 ] || [ -n "$STAND_IN_ALL_PRINT" ] && echo "Epoch $epoch/$epochs"
    sleep "${STAND_IN_EPOCH_SECONDS:-0.05}"
    event "\"event\":\"step\",\"epoch\":$((epoch - 1)),\"batch\":9,\"lr\":0.01,\"loss\":0.5"
    event "\"event\":\"epoch\",\"epoch\":$epoch,\"train\":$(metrics 0.5),\"validation\":$(metrics 0.$((5 + epoch))),\
\"averaged\":null,\"lr\":0.01,\"batches\":10,\"images\":640,\"images_per_sec\":1280.0,\
\"cumulative_seconds\":$((epoch - resume)),\"phases\":{\"start_up\":0,\"training\":1.0,\"data\":0,\"forward\":0.5,\"backward\":0.5,\
\"allreduce_exposed\":0,\"optimizer\":0,\"validation\":0,\"checkpoint\":0}"
    [ "$rank" = 0 ] && : > "$logs/checkpoint-$epoch.safetensors"
done
event "\"event\":\"test\",\"loss\":0.6,\"accuracy\":0.7,\"images\":100,\"seconds\":0.1"
event "\"event\":\"finished\",\"epochs\":$epoch,\"training_seconds\":$epoch,\"total_seconds\":$epoch"
