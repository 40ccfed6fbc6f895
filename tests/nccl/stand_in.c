// A stand-in for libcuda and libnccl between processes of one host. Memory of the "GPU" is host memory, and a stream is a
// queue of things to do, which are done late and in the worst order that the events between streams allow: whoever forgets
// an event sees wrong numbers every time. HVD_STAND_IN_LAZY names the stream that does nothing unless it has to: `compute`
// or `nccl`. HVD_STAND_IN_FAIL=init:RANK or async:RANK makes that rank's link fail.
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { NOT_READY = 600, LONGEST = 1 << 14, SLOTS = 4, RANKS = 8, QUEUE = 1 << 12 };

typedef struct { unsigned long issued, done; double milliseconds; } Event;

// Shared by all ranks. A slot is written by its rank, and read by all.
typedef struct {
  atomic_int attached;
  atomic_ulong finished[RANKS];
  struct { atomic_ulong round; float numbers[LONGEST]; } slots[RANKS][SLOTS];
} Board;

typedef struct { Board* board; int size, rank; unsigned long round; } Link;

typedef struct {
  enum { RECORD, WAIT, CALL, MEAN, SUM, SPREAD } kind;
  Event* event;
  unsigned long mark;
  void (*call)(void*);
  void* argument;
  Link* link;
  const float* source;
  float* target;
  size_t count;
  int root, sent;
} Task;

typedef struct { Task tasks[QUEUE]; unsigned first, end; } Stream;

static Stream compute, beside;
static int current = 0;

static int fails(const char* how, int rank) {
  const char* wish = getenv("HVD_STAND_IN_FAIL");
  char this[32];
  snprintf(this, sizeof this, "%s:%d", how, rank);
  return wish && !strcmp(wish, this);
}

// One step of a collective: 1 when it is over. Never waits.
static int exchange(Task* task) {
  Link* link = task->link;
  Board* board = link->board;
  if (!task->sent) {
    task->mark = link->round + 1;
    for (int rank = 0; rank < link->size; rank++)
      if (board->finished[rank] + SLOTS < task->mark) return 0;
    memcpy(board->slots[link->rank][task->mark % SLOTS].numbers, task->source, task->count * sizeof(float));
    board->slots[link->rank][task->mark % SLOTS].round = task->mark;
    task->sent = 1;
    link->round++;
  }
  for (int rank = 0; rank < link->size; rank++)
    if (board->slots[rank][task->mark % SLOTS].round != task->mark) return 0;
  for (size_t at = 0; at < task->count; at++) {
    float sum = 0;
    for (int rank = 0; rank < link->size; rank++) sum += board->slots[rank][task->mark % SLOTS].numbers[at];
    task->target[at] =
        task->kind == MEAN ? sum / link->size : task->kind == SUM ? sum : board->slots[task->root][task->mark % SLOTS].numbers[at];
  }
  board->finished[link->rank] = task->mark;
  return 1;
}

// Does the next thing of a stream, if it can be done.
static int advance(Stream* stream) {
  if (stream->first == stream->end) return 0;
  Task* task = &stream->tasks[stream->first % QUEUE];
  if (task->kind == WAIT && task->event->done < task->mark) return 0;
  if ((task->kind == MEAN || task->kind == SUM || task->kind == SPREAD) && !exchange(task)) return 0;
  if (task->kind == RECORD && task->event->done < task->mark) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    task->event->milliseconds = now.tv_sec * 1e3 + now.tv_nsec / 1e6;
    task->event->done = task->mark;
  }
  if (task->kind == CALL) task->call(task->argument);
  stream->first++;
  return 1;
}

static Stream* lazy(void) {
  const char* wish = getenv("HVD_STAND_IN_LAZY");
  return wish && !strcmp(wish, "compute") ? &compute : &beside;
}

// The eager stream as far as it comes; the lazy one only if somebody asks, and only when the other can do nothing.
static void progress(int asked) {
  Stream* eager = lazy() == &compute ? &beside : &compute;
  do {
    while (advance(eager)) {}
  } while (asked && advance(lazy()));
}

static void give(void* stream, Task task) {
  Stream* to = stream ? stream : &compute;
  if (to->end - to->first == QUEUE) abort();
  to->tasks[to->end++ % QUEUE] = task;
  progress(0);
}

// What a kernel of libtorch would be.
void hvd_stand_in_compute(void (*call)(void*), void* argument) { give(0, (Task){.kind = CALL, .call = call, .argument = argument}); }

int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int* count) {
  const char* wish = getenv("HVD_STAND_IN_GPUS");
  return *count = wish ? atoi(wish) : RANKS, 0;
}
int cuDeviceGetUuid_v2(char* uuid, int device) { return memset(uuid, device, 16), 0; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) { return *value = 0, 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { return *context = &current, 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return 0; }
int cuCtxGetCurrent(void** context) { return *context = &current, 0; }
int cuCtxSetCurrent(void* context) { return 0; }
int cuGetErrorName(int error, const char** text) { return *text = "STAND_IN", 0; }
int cuGetErrorString(int error, const char** text) { return *text = "stand-in", 0; }
int cuStreamCreate(void** stream, unsigned flags) { return *stream = &beside, 0; }
int cuStreamDestroy_v2(void* stream) { return 0; }
int cuEventCreate(void** event, unsigned flags) { return *event = calloc(1, sizeof(Event)), 0; }
int cuEventDestroy_v2(void* event) { return free(event), 0; }

// On the default stream, for which the host waits.
static void settle(void) {
  while (compute.first != compute.end) progress(1);
}
int cuMemAlloc_v2(void** memory, size_t bytes) {
  const char* wish = getenv("HVD_STAND_IN_MEMORY");
  if (wish && bytes > (size_t)atoll(wish)) return 2;
  *memory = malloc(bytes);
  memset(*memory, 0xff, bytes);
  return 0;
}
int cuMemFree_v2(void* memory) { return settle(), free(memory), 0; }
int cuMemcpyHtoD_v2(void* to, const void* from, size_t bytes) { return settle(), memcpy(to, from, bytes), 0; }
int cuMemcpyDtoH_v2(void* to, const void* from, size_t bytes) { return settle(), memcpy(to, from, bytes), 0; }

int cuEventRecord(void* event, void* stream) {
  Event* this = event;
  give(stream, (Task){.kind = RECORD, .event = this, .mark = ++this->issued});
  return 0;
}

int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  Event* this = event;
  give(stream, (Task){.kind = WAIT, .event = this, .mark = this->issued});
  return 0;
}

// Who asks for an event gets no more done than that takes.
int cuEventQuery(void* event) {
  Event* this = event;
  do progress(0);
  while (this->done < this->issued && advance(lazy()));
  return this->done >= this->issued ? 0 : NOT_READY;
}

int cuEventSynchronize(void* event) {
  while (cuEventQuery(event)) {}
  return 0;
}

int cuEventElapsedTime_v2(float* milliseconds, void* began, void* ended) {
  Event *first = began, *last = ended;
  if (first->done < first->issued || last->done < last->issued) return NOT_READY;
  return *milliseconds = last->milliseconds - first->milliseconds, 0;
}

int cuCtxSynchronize(void) {
  while (compute.first != compute.end || beside.first != beside.end) progress(1);
  return 0;
}

int ncclGetVersion(int* version) {
  const char* wish = getenv("HVD_STAND_IN_VERSION");
  return *version = wish ? atoi(wish) : 22809, 0;
}
const char* ncclGetErrorString(int error) { return error == 5 ? "invalid usage" : "internal error"; }
const char* ncclGetLastError(void* link) { return "the stand-in was asked to fail"; }
int ncclGetUniqueId(char* id) {
  memset(id, 0, 128);
  snprintf(id, 128, "/hvd-stand-in-%d", getpid());
  return 0;
}

typedef struct { char text[128]; } Id;

int ncclCommInitRank(Link** link, int size, Id id, int rank) {
  int file = shm_open(id.text, O_CREAT | O_RDWR, 0600);
  if (size > RANKS || file < 0 || ftruncate(file, sizeof(Board))) return 2;
  Board* board = mmap(0, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  board->attached++;
  for (int waited = 0; board->attached < size; waited++) {
    if (waited > 20000) return 2;
    usleep(1000);
  }
  shm_unlink(id.text);
  *link = calloc(1, sizeof(Link));
  **link = (Link){.board = board, .size = size, .rank = rank};
  return fails("init", rank) ? 5 : 0;
}

int ncclCommDestroy(Link* link) { return free(link), 0; }
int ncclCommAbort(Link* link) {
  beside.first = beside.end;
  return free(link), 0;
}
int ncclCommGetAsyncError(Link* link, int* error) { return *error = fails("async", link->rank) ? 3 : 0, 0; }

int ncclAllReduce(const void* source, void* target, size_t count, int kind, int op, Link* link, void* stream) {
  if (count > LONGEST || kind != 7 || (op != 4 && op != 0)) return 4;
  give(stream, (Task){.kind = op == 4 ? MEAN : SUM, .link = link, .source = source, .target = target, .count = count});
  return 0;
}

int ncclBroadcast(const void* source, void* target, size_t count, int kind, int root, Link* link, void* stream) {
  if (count > LONGEST || kind != 7) return 4;
  give(stream, (Task){.kind = SPREAD, .link = link, .source = source, .target = target, .count = count, .root = root});
  return 0;
}
