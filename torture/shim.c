/* Stands between a process and the C library: records what is written and synced, makes calls fail, and moves
 * the clock. Loaded by LD_PRELOAD, it does nothing until `shim_arm` is called, or TORTURE_CLOCK names a file.
 *
 * A record is a struct of 32 bytes (see shim.py) and its data. Calls are recorded in the order in which they
 * took effect, also those of several processes: each is made and recorded under a lock of the log. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { WRITE = 1, SYNC = 2, TRUNCATE = 4, OPEN = 8, NAME = 16, READ = 32 };
enum { SHORT = -1 };

struct record { uint64_t kind, file, offset, size; };

static char directory[PATH_MAX];
static size_t directory_size;
static int log_fd = -1, fail_errno, fail_kinds, fail_times;
static long fail_at = -1, calls;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile double *clock_offset;

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

/* Watch all files below *where*. Calls are recorded in the open file *log*, unless that is -1. Calls number
 * *at* to before *at* + *times* of the *kinds* fail with *error*, or write less if it is -1; -1 fails none. */
void shim_arm(const char *where, int log, long at, int times, int error, int kinds) {
    directory_size = strlen(where);
    memcpy(directory, where, directory_size + 1);
    log_fd = log;
    calls = 0;
    fail_at = at;
    fail_times = times;
    fail_errno = error;
    fail_kinds = kinds;
}

/* Return how many calls of the kinds were made. */
long shim_calls(void) { return calls; }

static int below(const char *path) {
    return directory_size && path && !strncmp(path, directory, directory_size);
}

static int watched(int fd) {
    if (!directory_size || fd == log_fd) return 0;
    char name[64] = "/proc/self/fd/", path[PATH_MAX], digits[16];
    int n = 0, value = fd;
    do digits[n++] = '0' + value % 10; while (value /= 10);
    size_t at = strlen(name);
    while (n) name[at++] = digits[--n];
    name[at] = 0;
    ssize_t size = readlink(name, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return below(path);
}

/* Count a call; return 0 if it is to succeed, else what goes wrong. Needs the mutex. */
static int fails(int kind) {
    if (!(kind & fail_kinds)) return 0;
    long number = calls++;
    return fail_at >= 0 && number >= fail_at && number - fail_at < fail_times ? fail_errno : 0;
}

static void enter(void) {
    pthread_mutex_lock(&mutex);
    if (log_fd >= 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
        while (fcntl(log_fd, F_SETLKW, &lock) && errno == EINTR) {}
    }
}

static void leave(void) {
    int saved = errno;
    if (log_fd >= 0) {
        struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
        fcntl(log_fd, F_SETLK, &lock);
    }
    pthread_mutex_unlock(&mutex);
    errno = saved;
}

static uint64_t inode(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : (uint64_t)found.st_ino;
}

static void note(int kind, uint64_t file, uint64_t offset, const struct iovec *parts, int count, uint64_t size) {
    if (log_fd < 0) return;
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    int saved = errno;
    struct record record = {kind, file, offset, size};
    struct iovec head = {&record, sizeof record};
    if (real(log_fd, &head, 1) != sizeof record) abort();
    for (int i = 0; i < count && size; i++) {
        struct iovec part = {parts[i].iov_base, parts[i].iov_len < size ? parts[i].iov_len : size};
        if (real(log_fd, &part, 1) != (ssize_t)part.iov_len) abort();
        size -= part.iov_len;
    }
    errno = saved;
}

static void note_names(int kind, uint64_t file, const char *one, const char *two) {
    struct iovec parts[2] = {{(void *)one, strlen(one) + 1}, {(void *)two, strlen(two) + 1}};
    note(kind, file, 0, parts, 2, parts[0].iov_len + parts[1].iov_len);
}

/* Write by pwritev at *offset*, or at the position of the file if that is -1. */
static ssize_t write_parts(int fd, const struct iovec *parts, int count, off_t offset) {
    static ssize_t (*vector)(int, const struct iovec *, int);
    static ssize_t (*at)(int, const struct iovec *, int, off_t);
    if (!vector) vector = dlsym(RTLD_NEXT, "writev");
    if (!at) at = dlsym(RTLD_NEXT, "pwritev");
    if (!watched(fd)) return offset < 0 ? vector(fd, parts, count) : at(fd, parts, count, offset);
    enter();
    struct iovec fewer[1024];
    size_t total = 0;
    for (int i = 0; i < count; i++) total += parts[i].iov_len;
    int wrong = total > (fail_errno == SHORT ? 1 : 0) ? fails(WRITE) : 0;
    ssize_t done;
    if (wrong > 0) {
        errno = wrong;
        done = -1;
    } else {
        if (wrong == SHORT && count <= 1024) {
            size_t left = total / 2;
            int used = 0;
            for (; used < count && left; used++) {
                fewer[used] = parts[used];
                if (fewer[used].iov_len > left) fewer[used].iov_len = left;
                left -= fewer[used].iov_len;
            }
            parts = fewer;
            count = used;
        }
        struct stat found;
        off_t place = offset;
        if (offset < 0) {
            place = lseek(fd, 0, SEEK_CUR);
            if (fcntl(fd, F_GETFL) & O_APPEND && !fstat(fd, &found)) place = found.st_size;
        }
        done = offset < 0 ? vector(fd, parts, count) : at(fd, parts, count, offset);
        if (done > 0) {
            note(WRITE, inode(fd), place, parts, count, done);
            if (fcntl(fd, F_GETFL) & (O_DSYNC | O_SYNC)) note(SYNC, inode(fd), 0, NULL, 0, 0);
        }
    }
    leave();
    return done;
}

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    if (!directory_size) return real(fd, data, size);
    struct iovec part = {(void *)data, size};
    return write_parts(fd, &part, 1, -1);
}
ssize_t writev(int fd, const struct iovec *parts, int count) { return write_parts(fd, parts, count, -1); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    struct iovec part = {(void *)data, size};
    return write_parts(fd, &part, 1, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) { return pwrite(fd, data, size, offset); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    return write_parts(fd, parts, count, offset);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t offset) {
    return write_parts(fd, parts, count, offset);
}

static int sync_file(int fd, int (*real)(int)) {
    if (!watched(fd)) return real(fd);
    enter();
    int wrong = fails(SYNC), done = -1;
    if (wrong > 0) errno = wrong;
    else if (!(done = real(fd))) note(SYNC, inode(fd), 0, NULL, 0, 0);
    leave();
    return done;
}
int fsync(int fd) { REAL(int, "fsync", int); return sync_file(fd, real); }
int fdatasync(int fd) { REAL(int, "fdatasync", int); return sync_file(fd, real); }

int ftruncate(int fd, off_t size) {
    REAL(int, "ftruncate", int, off_t);
    if (!watched(fd)) return real(fd, size);
    enter();
    int wrong = fails(TRUNCATE), done = -1;
    if (wrong > 0) errno = wrong;
    else if (!(done = real(fd, size))) note(TRUNCATE, inode(fd), size, NULL, 0, 0);
    leave();
    return done;
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

int open(const char *path, int flags, ...) {
    REAL(int, "open", const char *, int, ...);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (!below(path)) return real(path, flags, mode);
    enter();
    struct stat found;
    int there = !stat(path, &found), wrong = fails(OPEN), done = -1;
    if (wrong > 0) errno = wrong;
    else if ((done = real(path, flags, mode)) >= 0 && (flags & O_TMPFILE) != O_TMPFILE) {
        if (flags & O_CREAT && !there) note_names(OPEN, inode(done), path, "");
        else if (flags & O_TRUNC) note(TRUNCATE, inode(done), 0, NULL, 0, 0);
    }
    leave();
    return done;
}
int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open(path, flags, mode);
}

int rename(const char *old, const char *new) {
    REAL(int, "rename", const char *, const char *);
    if (!below(old) && !below(new)) return real(old, new);
    enter();
    int wrong = fails(NAME), done = -1;
    if (wrong > 0) errno = wrong;
    else if (!(done = real(old, new))) note_names(NAME, 0, old, new);
    leave();
    return done;
}
int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    if (!below(path)) return real(path);
    enter();
    int wrong = fails(NAME), done = -1;
    if (wrong > 0) errno = wrong;
    else if (!(done = real(path))) note_names(NAME, 0, path, "");
    leave();
    return done;
}

static ssize_t read_at(int fd, void *data, size_t size, off_t offset) {
    static ssize_t (*plain)(int, void *, size_t);
    static ssize_t (*at)(int, void *, size_t, off_t);
    if (!plain) plain = dlsym(RTLD_NEXT, "read");
    if (!at) at = dlsym(RTLD_NEXT, "pread");
    int wrong = 0;
    if (directory_size && fail_kinds & READ && watched(fd)) {
        pthread_mutex_lock(&mutex);
        wrong = fails(READ);
        pthread_mutex_unlock(&mutex);
    }
    if (wrong > 0) { errno = wrong; return -1; }
    return offset < 0 ? plain(fd, data, size) : at(fd, data, size, offset);
}
ssize_t read(int fd, void *data, size_t size) { return read_at(fd, data, size, -1); }
ssize_t pread(int fd, void *data, size_t size, off_t offset) { return read_at(fd, data, size, offset); }
ssize_t pread64(int fd, void *data, size_t size, off_t offset) { return read_at(fd, data, size, offset); }

/* The clock: seconds to be added to that of the machine, a double in a file that processes share. */
__attribute__((constructor)) static void find_clock(void) {
    const char *path = getenv("TORTURE_CLOCK");
    int fd = path ? open(path, O_RDONLY) : -1;
    if (fd < 0) return;
    void *map = mmap(NULL, sizeof(double), PROT_READ, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) clock_offset = map;
    close(fd);
}

int clock_gettime(clockid_t id, struct timespec *now) {
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    int done = real(id, now);
    if (!done && clock_offset && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        now->tv_sec += (time_t)*clock_offset;
    return done;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    REAL(int, "gettimeofday", struct timeval *, void *);
    int done = real(now, zone);
    if (!done && clock_offset) now->tv_sec += (time_t)*clock_offset;
    return done;
}
time_t time(time_t *where) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (where) *where = now.tv_sec;
    return now.tv_sec;
}
