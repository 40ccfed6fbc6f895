"""The ring allreduce, for you to complete: who sends which chunk to whom, round by round. Two places are marked TODO.

    hvd-lab exercise run --track collectives

checks what `ring` returns for 1 to 8 ranks, and runs it over MPI once it is right. Python 3.8 is all you need.
"""

import json
import sys


def chunk(elements, parts, index):
    """Where chunk `index` of `parts` begins and ends. The first ones have one number more if it does not come out even."""
    size, rest = divmod(elements, parts)
    start = index * size + min(index, rest)
    return start, start + size + (1 if index < rest else 0)


def ring(ranks, elements):
    """The rounds of the ring. A round is a list of messages (sender, receiver, start, end, operation)."""
    rounds = []

    # Reduce-scatter: after these rounds every rank holds one chunk with the sum of all ranks.
    for hop in range(ranks - 1):
        messages = []
        for rank in range(ranks):
            # TODO 1: every rank sends to the next one, and the last rank sends to rank 0. In the first round (hop 0) rank r
            # sends chunk r. In each later round it passes on the chunk that it has just added to.
            receiver = rank
            index = 0
            start, end = chunk(elements, ranks, index)
            messages.append((rank, receiver, start, end, "reduce"))
        rounds.append(messages)

    # Allgather: the finished chunks go around the ring.
    for hop in range(ranks - 1):
        messages = []
        for rank in range(ranks):
            # TODO 2: the receiver is the same. In the first of these rounds every rank sends the chunk that it has finished,
            # then the one that has just arrived.
            receiver = rank
            index = 0
            start, end = chunk(elements, ranks, index)
            messages.append((rank, receiver, start, end, "copy"))
        rounds.append(messages)

    return rounds


# The lab calls this program with cases such as 4x16: 4 ranks and 16 numbers. It reads the lines that begin with @hvd.
if __name__ == "__main__":
    for case in sys.argv[1:] or ["4x16"]:
        ranks, elements = map(int, case.split("x"))
        print("@hvd", json.dumps(ring(ranks, elements)))
