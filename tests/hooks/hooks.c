/*
 * Hooks that are loaded before a program (LD_PRELOAD) and see what it, and every library in it, asks of the C library.
 *
 * Reads of the environment are kept from the start of the process, each with the library that asked. Everything else is counted
 * only on a thread that has armed the hooks, and only while it has.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

/* What an armed thread did. The test crate has the same struct. */
typedef struct {
    uint64_t allocations, environment, files, locks, system_calls;
} Counts;

static __thread int armed __attribute__((tls_model("initial-exec")));
static __thread Counts counts __attribute__((tls_model("initial-exec")));

VISIBLE void overt_hooks_arm(void);
VISIBLE void overt_hooks_disarm(Counts *out);
VISIBLE size_t overt_hooks_environment(char *out, size_t room);

void overt_hooks_arm(void) {
    memset(&counts, 0, sizeof counts);
    armed = 1;
}
void overt_hooks_disarm(Counts *out) {
    armed = 0;
    *out = counts;
}

/* ---- Memory: glibc exports its own functions under these names, so nothing has to be looked up while the loader still works. */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);
VISIBLE void *malloc(size_t size) {
    counts.allocations += armed;
    return __libc_malloc(size);
}
VISIBLE void *calloc(size_t count, size_t size) {
    counts.allocations += armed;
    return __libc_calloc(count, size);
}
VISIBLE void *realloc(void *old, size_t size) {
    counts.allocations += armed;
    return __libc_realloc(old, size);
}
VISIBLE void free(void *old) {
    counts.allocations += armed && old;
    __libc_free(old);
}
VISIBLE void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size) {
    counts.allocations += armed;
    return __libc_memalign(alignment, size);
}
VISIBLE void *aligned_alloc(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
VISIBLE int posix_memalign(void **out, size_t alignment, size_t size);
int posix_memalign(void **out, size_t alignment, size_t size) {
    void *memory = memalign(alignment, size);
    if (!memory) return ENOMEM;
    *out = memory;
    return 0;
}

/* ---- The environment. */

extern char **environ;
static char seen[1 << 16];
static size_t seen_length;
static pthread_spinlock_t seen_lock;

static const char *base(const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "?";
}

/* `library name\n`, once for each pair. */
static void note(const char *name, void *caller) {
    Dl_info info;
    char line[512];
    const char *library = dladdr(caller, &info) ? base(info.dli_fname) : "?";
    int length = snprintf(line, sizeof line, "%s %s\n", library, name);
    if (length <= 0 || (size_t)length >= sizeof line) return;
    pthread_spin_lock(&seen_lock);
    if (!strstr(seen, line) && seen_length + (size_t)length < sizeof seen) {
        memcpy(seen + seen_length, line, (size_t)length + 1);
        seen_length += (size_t)length;
    }
    pthread_spin_unlock(&seen_lock);
}
static char *find(const char *name) {
    size_t length = strlen(name);
    for (char **entry = environ; entry && *entry; ++entry)
        if (!strncmp(*entry, name, length) && (*entry)[length] == '=') return *entry + length + 1;
    return NULL;
}
VISIBLE char *getenv(const char *name);
char *getenv(const char *name) {
    counts.environment += armed;
    note(name, __builtin_return_address(0));
    return find(name);
}
VISIBLE char *secure_getenv(const char *name);
char *secure_getenv(const char *name) {
    counts.environment += armed;
    note(name, __builtin_return_address(0));
    return find(name);
}
size_t overt_hooks_environment(char *out, size_t room) {
    pthread_spin_lock(&seen_lock);
    size_t length = seen_length < room ? seen_length : room;
    memcpy(out, seen, length);
    pthread_spin_unlock(&seen_lock);
    return length;
}

/* ---- Files, locks, the system. */

static int (*next_openat)(int, const char *, int, ...);
static FILE *(*next_fopen)(const char *, const char *);
static int (*next_lock)(pthread_mutex_t *);
static int (*next_read_lock)(pthread_rwlock_t *);
static long (*next_syscall)(long, ...);

/* Standard C has no cast from object to function pointers; POSIX makes this copy mean it. */
#define LOOK_UP(variable, name)                        \
    do {                                               \
        void *symbol = dlsym(RTLD_NEXT, name);         \
        memcpy(&variable, &symbol, sizeof symbol);     \
    } while (0)
__attribute__((constructor)) static void look_up(void) {
    pthread_spin_init(&seen_lock, PTHREAD_PROCESS_PRIVATE);
    LOOK_UP(next_openat, "openat");
    LOOK_UP(next_fopen, "fopen");
    LOOK_UP(next_lock, "pthread_mutex_lock");
    LOOK_UP(next_read_lock, "pthread_rwlock_rdlock");
    LOOK_UP(next_syscall, "syscall");
}
static int open_at(int folder, const char *path, int flags, mode_t mode) {
    counts.files += armed;
    return next_openat ? next_openat(folder, path, flags, mode) : (int)-1;
}
#define OPEN_MODE                                      \
    mode_t mode = 0;                                   \
    if (flags & (O_CREAT | O_TMPFILE)) {               \
        va_list rest;                                  \
        va_start(rest, flags);                         \
        mode = (mode_t)va_arg(rest, unsigned);         \
        va_end(rest);                                  \
    }
VISIBLE int open(const char *path, int flags, ...) { OPEN_MODE return open_at(AT_FDCWD, path, flags, mode); }
VISIBLE int open64(const char *path, int flags, ...) { OPEN_MODE return open_at(AT_FDCWD, path, flags, mode); }
VISIBLE int openat(int folder, const char *path, int flags, ...) { OPEN_MODE return open_at(folder, path, flags, mode); }
VISIBLE int openat64(int folder, const char *path, int flags, ...) { OPEN_MODE return open_at(folder, path, flags, mode); }
VISIBLE FILE *fopen(const char *path, const char *how) {
    counts.files += armed;
    return next_fopen ? next_fopen(path, how) : NULL;
}
VISIBLE int pthread_mutex_lock(pthread_mutex_t *mutex) {
    counts.locks += armed;
    return next_lock ? next_lock(mutex) : 0;
}
VISIBLE int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    counts.locks += armed;
    return next_read_lock ? next_read_lock(lock) : 0;
}
VISIBLE long syscall(long number, ...) {
    va_list rest;
    long a[6];
    counts.system_calls += armed;
    va_start(rest, number);
    for (int i = 0; i < 6; ++i) a[i] = va_arg(rest, long);
    va_end(rest);
    return next_syscall ? next_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]) : -1;
}
