/* A stand-in for libnvidia-ml.so, so that tests drive the real NVML path without a driver.
 *
 * Never claims to be complete: what is not here is a missing symbol, which the probe must survive.
 * Runs on GPU 0: the very process that loaded it, and one of another container.
 * HVD_STAND_IN_GPUS (default 2), HVD_STAND_IN_INIT (return code of nvmlInit),
 * HVD_STAND_IN_MIG=1 (GPU 1 is cut into one MIG device), HVD_STAND_IN_LOST=1 (GPU 1 does not open).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6, TOO_SMALL = 7, LOST = 15 };

typedef struct { int index; int is_mig; } Device;
static Device devices[2] = {{0, 0}, {1, 0}};
static Device slice = {1, 1};

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

int nvmlInit_v2(void) { return number("HVD_STAND_IN_INIT", OK); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { (void)code; return "stand-in"; }

int nvmlSystemGetDriverVersion(char *text, unsigned length) { strncpy(text, "580.99.01", length); return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return OK; }

int nvmlDeviceGetCount_v2(unsigned *count) { *count = (unsigned)number("HVD_STAND_IN_GPUS", 2); return OK; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **device) {
    if (index > 1) return INVALID_ARGUMENT;
    if (index == 1 && number("HVD_STAND_IN_LOST", 0)) return LOST;
    *device = &devices[index];
    return OK;
}

int nvmlDeviceGetName(Device *device, char *text, unsigned length) {
    strncpy(text, device->is_mig ? "Stand-in MIG 1g.10gb" : "Stand-in GPU", length);
    return OK;
}

int nvmlDeviceGetUUID(Device *device, char *text, unsigned length) {
    strncpy(text, device->is_mig ? "MIG-0000" : device->index ? "GPU-1111" : "GPU-0000", length);
    return OK;
}

typedef struct { char legacy[16]; unsigned domain, bus, device, pci_device, sub_system; char bus_id[32]; } PciInfo;
int nvmlDeviceGetPciInfo_v3(Device *device, PciInfo *info) {
    memset(info, 0, sizeof *info);
    strcpy(info->bus_id, device->index ? "00000000:42:00.0" : "00000000:41:00.0");
    return OK;
}

int nvmlDeviceGetMigMode(Device *device, unsigned *current, unsigned *pending) {
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
    rates[0] = 61;
    rates[1] = 20;
    return OK;
}

typedef struct { unsigned version; unsigned long long total, reserved, free, used; } MemoryInfo;
int nvmlDeviceGetMemoryInfo_v2(Device *device, MemoryInfo *info) {
    (void)device;
    info->total = 100ULL << 30;
    info->used = 41ULL << 30;
    info->free = 59ULL << 30;
    info->reserved = 0;
    return OK;
}

int nvmlDeviceGetTemperature(Device *device, int sensor, unsigned *celsius) {
    (void)sensor;
    *celsius = device->index ? 44 : 37;
    return OK;
}
int nvmlDeviceGetPowerUsage(Device *device, unsigned *milliwatts) {
    if (device->index == 1) return NO_PERMISSION;
    *milliwatts = 120500;
    return OK;
}
int nvmlDeviceGetEnforcedPowerLimit(Device *device, unsigned *milliwatts) { (void)device; *milliwatts = 700000; return OK; }
int nvmlDeviceGetNumFans(Device *device, unsigned *count) { (void)device; *count = 0; return OK; }
int nvmlDeviceGetClockInfo(Device *device, int clock, unsigned *mhz) { (void)device; *mhz = clock == 2 ? 3201 : 1980; return OK; }
int nvmlDeviceGetPerformanceState(Device *device, int *state) { (void)device; *state = 0; return OK; }
int nvmlDeviceGetTotalEccErrors(Device *device, int kind, int counter, unsigned long long *count) {
    (void)kind, (void)counter;
    if (device->index == 1) return NOT_SUPPORTED;
    *count = 0;
    return OK;
}
int nvmlDeviceGetPcieThroughput(Device *device, int counter, unsigned *kib_per_sec) {
    (void)device;
    *kib_per_sec = counter == 0 ? 1000 : 2000;
    return OK;
}

/* GPU 0 has active links and GPM; GPU 1 has neither. */
int nvmlDeviceGetNvLinkState(Device *device, unsigned link, int *is_active) {
    if (device->index == 1) return NOT_SUPPORTED;
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
        return OK;
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
