/* A stand-in for libnvidia-ml.so, so that tests drive the real NVML path without a driver.
 *
 * Never claims to be complete: what is not here is a missing symbol, which the probe must survive.
 * Runs on GPU 0: the very process that loaded it, and one of another container. GPU 1 tells little; the others tell all.
 * HVD_STAND_IN_GPUS (default 2, at most 16), HVD_STAND_IN_INIT (return code of nvmlInit),
 * HVD_STAND_IN_INITS (a file that gets one byte for each nvmlInit),
 * HVD_STAND_IN_MIG=1 (GPU 1 is cut into one MIG device), HVD_STAND_IN_LOST=1 (GPU 1 does not open),
 * HVD_STAND_IN_FALLEN (GPU 2 falls off the bus, though its handle stays, as soon as this file is there),
 * HVD_STAND_IN_SILENT (the code with which all GPUs answer each question but their names),
 * HVD_STAND_IN_WAVES=1 (use goes up and down with time, for the eye).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6, TOO_SMALL = 7, LOST = 15 };

typedef struct { int index; int is_mig; } Device;
static Device devices[16];
static Device slice = {1, 1};

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

/* A GPU that fell off the bus answers every question with this. */
static int answers(const Device *device) {
    const char *fallen = getenv("HVD_STAND_IN_FALLEN");
    if (getenv("HVD_STAND_IN_SILENT")) return number("HVD_STAND_IN_SILENT", OK);
    return device->index == 2 && fallen && access(fallen, F_OK) == 0 ? LOST : OK;
}

int nvmlInit_v2(void) {
    const char *path = getenv("HVD_STAND_IN_INITS");
    FILE *inits = path ? fopen(path, "a") : NULL;
    if (inits) {
        fputc('i', inits);
        fclose(inits);
    }
    for (int index = 0; index < 16; index++) devices[index].index = index;
    return number("HVD_STAND_IN_INIT", OK);
}
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { (void)code; return "stand-in"; }

int nvmlSystemGetDriverVersion(char *text, unsigned length) { strncpy(text, "580.99.01", length); return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return OK; }

int nvmlDeviceGetCount_v2(unsigned *count) { *count = (unsigned)number("HVD_STAND_IN_GPUS", 2); return OK; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **device) {
    if (index > 15) return INVALID_ARGUMENT;
    if (index == 1 && number("HVD_STAND_IN_LOST", 0)) return LOST;
    *device = &devices[index];
    return OK;
}

int nvmlDeviceGetName(Device *device, char *text, unsigned length) {
    if (answers(device)) return answers(device);
    strncpy(text, device->is_mig ? "Stand-in MIG 1g.10gb" : "Stand-in GPU", length);
    return OK;
}

int nvmlDeviceGetUUID(Device *device, char *text, unsigned length) {
    const char digit = "0123456789abcdef"[device->index];
    snprintf(text, length, device->is_mig ? "MIG-0000" : "GPU-%c%c%c%c", digit, digit, digit, digit);
    return answers(device);
}

typedef struct { char legacy[16]; unsigned domain, bus, device, pci_device, sub_system; char bus_id[32]; } PciInfo;
int nvmlDeviceGetPciInfo_v3(Device *device, PciInfo *info) {
    memset(info, 0, sizeof *info);
    sprintf(info->bus_id, "00000000:%X:00.0", 0x41 + device->index);
    return answers(device);
}

int nvmlDeviceGetMigMode(Device *device, unsigned *current, unsigned *pending) {
    if (answers(device)) return answers(device);
    *current = *pending = device->index == 1 && !device->is_mig && number("HVD_STAND_IN_MIG", 0);
    return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(Device *device, unsigned *count) { (void)device; *count = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(Device *device, unsigned index, Device **mig) {
    (void)device;
    if (index != 2) return NOT_FOUND;
    *mig = &slice;
    return OK;
}
int nvmlDeviceIsMigDeviceHandle(Device *device, unsigned *is_mig) { *is_mig = (unsigned)device->is_mig; return OK; }

/* GPU 1 is in MIG mode or too old: no utilisation. */
int nvmlDeviceGetUtilizationRates(Device *device, unsigned rates[2]) {
    if (device->index == 1) return NOT_SUPPORTED;
    static const unsigned use[16] = {61, 0, 87, 12, 99, 0, 45, 73, 30, 5, 100, 66, 50, 91, 8, 27};
    rates[0] = use[device->index];
    rates[1] = 20;
    if (number("HVD_STAND_IN_WAVES", 0)) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        const double seconds = (double)(now.tv_sec % 100000) + now.tv_nsec / 1e9;
        rates[0] = (unsigned)(50 + 45 * sin(seconds / (3 + device->index) + device->index) + (rand() % 5));
    }
    return answers(device);
}

typedef struct { unsigned version; unsigned long long total, reserved, free, used; } MemoryInfo;
int nvmlDeviceGetMemoryInfo_v2(Device *device, MemoryInfo *info) {
    info->total = 100ULL << 30;
    info->used = (41ULL - device->index) << 30;
    info->free = info->total - info->used;
    info->reserved = 0;
    return answers(device);
}

int nvmlDeviceGetTemperature(Device *device, int sensor, unsigned *celsius) {
    (void)sensor;
    *celsius = device->index ? 43 + (unsigned)device->index : 37;
    return answers(device);
}
int nvmlDeviceGetPowerUsage(Device *device, unsigned *milliwatts) {
    if (device->index == 1) return NO_PERMISSION;
    *milliwatts = 120500 + 30000 * (unsigned)device->index;
    return answers(device);
}
int nvmlDeviceGetEnforcedPowerLimit(Device *device, unsigned *milliwatts) { *milliwatts = 700000; return answers(device); }
int nvmlDeviceGetNumFans(Device *device, unsigned *count) { *count = device->index >= 3; return answers(device); }
int nvmlDeviceGetFanSpeed_v2(Device *device, unsigned fan, unsigned *percent) { (void)fan; *percent = 30; return answers(device); }
int nvmlDeviceGetClockInfo(Device *device, int clock, unsigned *mhz) { *mhz = clock == 2 ? 3201 : 1980; return answers(device); }
int nvmlDeviceGetPerformanceState(Device *device, int *state) { *state = device->index == 3 ? 8 : 0; return answers(device); }
int nvmlDeviceGetComputeMode(Device *device, int *mode) {
    if (device->index == 1) return NO_PERMISSION;
    *mode = device->index == 3 ? 3 : 0;
    return answers(device);
}
int nvmlDeviceGetEccMode(Device *device, unsigned *current, unsigned *pending) {
    if (device->index == 1) return NOT_SUPPORTED;
    *current = *pending = device->index != 3;
    return answers(device);
}
int nvmlDeviceGetTotalEccErrors(Device *device, int kind, int counter, unsigned long long *count) {
    (void)kind, (void)counter;
    if (device->index == 1 || device->index == 3) return NOT_SUPPORTED;
    *count = 0;
    return answers(device);
}
int nvmlDeviceGetPcieThroughput(Device *device, int counter, unsigned *kib_per_sec) {
    *kib_per_sec = counter == 0 ? 1000 : 2000;
    return answers(device);
}

int nvmlDeviceGetCurrPcieLinkGeneration(Device *device, unsigned *generation) { *generation = 5; return answers(device); }
int nvmlDeviceGetCurrPcieLinkWidth(Device *device, unsigned *lanes) {
    if (device->index == 1) return NOT_SUPPORTED;
    *lanes = 16;
    return answers(device);
}
/* GPU 2 is too hot and at its power limit; GPU 3 is idle. */
int nvmlDeviceGetCurrentClocksThrottleReasons(Device *device, unsigned long long *reasons) {
    if (device->index == 1) return NOT_SUPPORTED;
    *reasons = device->index == 2 ? 0x44 : device->index == 3;
    return answers(device);
}
/* GPU 2 and 3 are below one switch (10), GPU 0 and 1 are on the other socket (50). GPU 1 does not know. */
int nvmlDeviceGetTopologyCommonAncestor(Device *device, Device *other, int *level) {
    if (device->index == 1) return NOT_SUPPORTED;
    *level = (device->index < 2) == (other->index < 2) ? 10 : 50;
    return answers(device);
}
/* Links 0 to 2 of GPU 0 end at GPU 1; with HVD_STAND_IN_SWITCH=1 at a switch. The last one does not say where. */
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device *device, unsigned link, PciInfo *info) {
    memset(info, 0, sizeof *info);
    if (link == 3) return NOT_SUPPORTED;
    sprintf(info->bus_id, number("HVD_STAND_IN_SWITCH", 0) ? "00000000:C1:00.0" : "00000000:42:00.0");
    return answers(device);
}

/* GPU 0 has active links and GPM; the others have neither. */
int nvmlDeviceGetNvLinkState(Device *device, unsigned link, int *is_active) {
    if (device->index != 0) return NOT_SUPPORTED;
    *is_active = link < 4;
    return OK;
}
typedef struct { unsigned version, is_supported; } GpmSupport;
int nvmlGpmQueryDeviceSupport(Device *device, GpmSupport *support) { (void)device; support->is_supported = 1; return OK; }
int nvmlGpmSampleAlloc(void **sample) { *sample = malloc(8); return OK; }
int nvmlGpmSampleFree(void *sample) { free(sample); return OK; }
int nvmlGpmSampleGet(Device *device, void *sample) { (void)device, (void)sample; return OK; }
typedef struct { unsigned id; int code; double value; char *names[3]; } Metric;
typedef struct { unsigned version, count; void *first, *second; Metric metrics[210]; } MetricsGet;
int nvmlGpmMetricsGet(MetricsGet *request) {
    if (request->first == request->second) return INVALID_ARGUMENT;
    for (unsigned i = 0; i < request->count; i++) {
        request->metrics[i].code = OK;
        request->metrics[i].value = request->metrics[i].id == 60 ? 100.0 : 200.0;
    }
    return OK;
}

typedef struct { unsigned pid; unsigned long long memory; unsigned gpu_instance, compute_instance; } Process;
int nvmlDeviceGetComputeRunningProcesses_v3(Device *device, unsigned *count, Process *processes) {
    if (device->index != 0) {
        *count = 0;
        return answers(device);
    }
    if (*count < 2) {
        *count = 2;
        return TOO_SMALL;
    }
    *count = 2;
    processes[0] = (Process){(unsigned)getpid(), 40ULL << 30, ~0u, ~0u};
    /* A process of another container: unknown here, and its memory is not told. */
    processes[1] = (Process){4000000000u, ~0ULL, ~0u, ~0u};
    return OK;
}

typedef struct { unsigned pid; unsigned long long time; unsigned sm, memory, encoder, decoder; } Use;
int nvmlDeviceGetProcessUtilization(Device *device, Use *uses, unsigned *count, unsigned long long since) {
    (void)device;
    if (uses == NULL) {
        *count = 2;
        return TOO_SMALL;
    }
    uses[0] = (Use){(unsigned)getpid(), since + 2000, 55, 0, 0, 0};
    uses[1] = (Use){(unsigned)getpid(), since + 1000, 10, 0, 0, 0};
    *count = 2;
    return OK;
}
