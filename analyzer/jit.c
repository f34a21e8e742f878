/*
 * jit.c - PTX to cubin in a helper process: driver first, then ptxas.
 * Input: PTX text and the options the program had given. Output: the bytes of a cubin.
 * The helper leads a process group of its own: at the deadline it goes with all that it started.
 */
#include "jit.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "buf.h"

#define LIMIT_MS  20000
#define CUBIN_MAX (512u << 20)

/* What the helper sends: this, then `bytes` bytes of cubin. */
struct answer {
	uint64_t bytes; /* 0 = failed */
	uint32_t by_driver;
	char why[200];
};

/* The few values of CUjit_option and friends that we use; their numbers are part of the driver's ABI. */
enum {
	OPT_MAX_REGISTERS = 0,
	OPT_ERROR_LOG_BUFFER = 5,
	OPT_ERROR_LOG_BUFFER_BYTES = 6,
	OPT_OPTIMIZATION_LEVEL = 7,
	OPT_TARGET = 9,
	OPT_GENERATE_DEBUG_INFO = 11,
	OPT_GENERATE_LINE_INFO = 13,
	OPT_CACHE_MODE = 14,
	INPUT_PTX = 1,
	TARGET_ARCH_SPECIFIC = 0x10000,
	TARGET_FAMILY_SPECIFIC = 0x20000,
	ATTRIBUTE_MAJOR = 75,
	ATTRIBUTE_MINOR = 76,
};

/* ---- target */

/* The word behind `.target`, in the directives before any code. */
static size_t find_target(const char *ptx, size_t bytes, char out[16])
{
	const char *p = memmem(ptx, bytes, ".target", 7), *end = ptx + bytes;
	size_t n = 0;

	out[0] = '\0';
	if (!p)
		return 0;
	for (p += 7; p < end && isspace((unsigned char)*p);)
		p++;
	while (p < end && n < 15 && (isalnum((unsigned char)*p) || *p == '_'))
		out[n++] = *p++;
	out[n] = '\0';
	return n;
}

void jit_target(const char *ptx, size_t bytes, uint32_t sm, char out[16])
{
	char target[16], suffix = '\0';
	unsigned number = 0;

	/* "sm_90a": exactly that SM; "sm_100f": newer ones of its family too */
	if (find_target(ptx, bytes, target) && sscanf(target, "sm_%u%c", &number, &suffix) == 2) {
		if ((suffix != 'a' || number != sm) && (suffix != 'f' || number / 10 != sm / 10))
			suffix = '\0';
	}
	if (suffix)
		snprintf(out, 16, "sm_%u%c", sm, suffix);
	else
		snprintf(out, 16, "sm_%u", sm);
}

/* ---- the helper: driver */

struct driver {
	int (*init)(unsigned);
	int (*count)(int *);
	int (*attribute)(int *, int, int);
	int (*retain)(void **, int);
	int (*set_current)(void *);
	int (*create)(unsigned, int *, void **, void **);
	int (*add)(void *, int, void *, size_t, const char *, unsigned, int *, void **);
	int (*complete)(void *, void **, size_t *);
};

static bool load_driver(struct driver *d)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	const struct {
		const char *name;
		void *into;
	} symbols[] = {
		{"cuInit", &d->init},
		{"cuDeviceGetCount", &d->count},
		{"cuDeviceGetAttribute", &d->attribute},
		{"cuDevicePrimaryCtxRetain", &d->retain},
		{"cuCtxSetCurrent", &d->set_current},
		{"cuLinkCreate_v2", &d->create},
		{"cuLinkAddData_v2", &d->add},
		{"cuLinkComplete", &d->complete},
	};

	/* The stand-in driver of the tests compiles nothing. */
	if (!lib || dlsym(lib, "kbn_stand_in_driver"))
		return false;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *p = dlsym(lib, symbols[i].name);

		if (!p)
			return false;
		memcpy(symbols[i].into, &p, sizeof(p));
	}
	return true;
}

/* The device of that SM, else any: the linker compiles for others too. -1 = no device. */
static int find_device(const struct driver *d, uint32_t sm)
{
	int n = 0, major = 0, minor = 0;

	if (d->init(0) || d->count(&n) || n < 1)
		return -1;
	for (int i = 0; i < n; i++) {
		if (!d->attribute(&major, ATTRIBUTE_MAJOR, i) &&
		    !d->attribute(&minor, ATTRIBUTE_MINOR, i) &&
		    (uint32_t)(major * 10 + minor) == sm)
			return i;
	}
	return 0;
}

static uintptr_t driver_target(const char *target, uint32_t sm)
{
	char last = target[strlen(target) - 1];

	return sm + (last == 'a' ? TARGET_ARCH_SPECIFIC : last == 'f' ? TARGET_FAMILY_SPECIFIC : 0);
}

/* Options that change the code, out of those that the program gave. */
static bool is_code_option(uint32_t option)
{
	return option == OPT_MAX_REGISTERS || option == OPT_OPTIMIZATION_LEVEL ||
	       option == OPT_GENERATE_DEBUG_INFO || option == OPT_GENERATE_LINE_INFO ||
	       option == OPT_CACHE_MODE;
}

/* The cubin belongs to the linker, which is left to the end of this process. */
static bool link_by_driver(const struct jit_source *s, struct answer *a, const void **cubin)
{
	int options[8] = {OPT_TARGET, OPT_ERROR_LOG_BUFFER, OPT_ERROR_LOG_BUFFER_BYTES}, device;
	void *values[8], *context, *state, *image = NULL;
	struct driver d;
	char target[16], log[160] = "";
	unsigned n = 3;
	size_t bytes = 0;
	char *text;

	if (!load_driver(&d) || (device = find_device(&d, s->sm)) < 0) {
		snprintf(a->why, sizeof(a->why), "no driver with a device");
		return false;
	}
	jit_target(s->ptx, s->bytes, s->sm, target);
	values[0] = (void *)driver_target(target, s->sm);
	values[1] = log;
	values[2] = (void *)(uintptr_t)sizeof(log);
	for (size_t i = 0; i < s->options_n && n < 8; i++) {
		if (is_code_option(s->options[i].option)) {
			options[n] = (int)s->options[i].option;
			values[n++] = (void *)(uintptr_t)s->options[i].value;
		}
	}
	text = calloc(1, s->bytes + 1);
	if (!text)
		return false;
	memcpy(text, s->ptx, s->bytes);
	if (d.retain(&context, device) || d.set_current(context) ||
	    d.create(n, options, values, &state) ||
	    d.add(state, INPUT_PTX, text, s->bytes + 1, "kbn", 0, NULL, NULL) ||
	    d.complete(state, &image, &bytes) || !bytes) {
		snprintf(a->why, sizeof(a->why), "the driver's linker failed: %.150s", log);
		return false;
	}
	*cubin = image;
	a->bytes = bytes;
	a->by_driver = 1;
	return true;
}

/* ---- the helper: ptxas */

/* Where ptxas is: CUDA_HOME, then PATH by execvp. */
static void ptxas_path(char *out, size_t room)
{
	const char *home = getenv("CUDA_HOME");

	if (home && *home && (size_t)snprintf(out, room, "%s/bin/ptxas", home) < room &&
	    !access(out, X_OK))
		return;
	snprintf(out, room, "ptxas");
}

static void exec_ptxas(const struct jit_source *s, const char *in, const char *out, const char *log)
{
	char path[4096], target[16], arch[32], registers[32], level[16];
	char *argv[16], **p = argv;
	int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ptxas_path(path, sizeof(path));
	jit_target(s->ptx, s->bytes, s->sm, target);
	snprintf(arch, sizeof(arch), "-arch=%s", target);
	*p++ = path;
	*p++ = arch;
	for (size_t i = 0; i < s->options_n && p < argv + 8; i++) {
		if (s->options[i].option == OPT_MAX_REGISTERS && s->options[i].value) {
			snprintf(registers, sizeof(registers), "-maxrregcount=%u",
				 s->options[i].value);
			*p++ = registers;
		} else if (s->options[i].option == OPT_OPTIMIZATION_LEVEL &&
			   s->options[i].value < 4) {
			snprintf(level, sizeof(level), "-O%u", s->options[i].value);
			*p++ = level;
		} else if (s->options[i].option == OPT_GENERATE_LINE_INFO && s->options[i].value) {
			*p++ = (char *)"-lineinfo";
		} else if (s->options[i].option == OPT_GENERATE_DEBUG_INFO && s->options[i].value) {
			*p++ = (char *)"-g";
		}
	}
	*p++ = (char *)in;
	*p++ = (char *)"-o";
	*p++ = (char *)out;
	*p = NULL;
	unsetenv("LD_PRELOAD");
	if (fd >= 0) {
		dup2(fd, 1);
		dup2(fd, 2);
	}
	execvp(path, argv);
	_exit(127);
}

static bool write_file(const char *path, const char *data, size_t bytes)
{
	FILE *f = fopen(path, "wbe");
	bool ok = f && fwrite(data, 1, bytes, f) == bytes;

	if (f && fclose(f))
		ok = false;
	return ok;
}

/* The first line of what ptxas said. */
static void explain(const char *log, int status, struct answer *a)
{
	char line[160] = "";
	FILE *f = fopen(log, "re");

	if (f) {
		if (!fgets(line, sizeof(line), f))
			line[0] = '\0';
		fclose(f);
	}
	line[strcspn(line, "\n")] = '\0';
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		snprintf(a->why, sizeof(a->why),
			 "no driver with a device, and no ptxas in CUDA_HOME or PATH");
	else
		snprintf(a->why, sizeof(a->why), "ptxas failed: %s", line);
}

static bool compile_by_ptxas(const struct jit_source *s, const char *dir, struct answer *a,
			     const void **cubin)
{
	char in[4200], out[4200], log[4200];
	struct err e = {0};
	uint8_t *data;
	size_t bytes;
	int status = 0;
	pid_t pid;

	snprintf(in, sizeof(in), "%s/in.ptx", dir);
	snprintf(out, sizeof(out), "%s/out.cubin", dir);
	snprintf(log, sizeof(log), "%s/log", dir);
	if (!write_file(in, s->ptx, s->bytes)) {
		snprintf(a->why, sizeof(a->why), "cannot write %.100s: %s", in, strerror(errno));
		return false;
	}
	pid = fork();
	if (pid == 0)
		exec_ptxas(s, in, out, log);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status) {
		explain(log, status, a);
		return false;
	}
	if (buf_load(out, CUBIN_MAX, &data, &bytes, &e) < 0 || !bytes) {
		snprintf(a->why, sizeof(a->why), "ptxas left nothing: %.150s", e.text);
		return false;
	}
	*cubin = data;
	a->bytes = bytes;
	return true;
}

static void write_all(int fd, const void *data, size_t bytes)
{
	const char *p = data;

	while (bytes) {
		ssize_t n = write(fd, p, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		p += n;
		bytes -= (size_t)n;
	}
}

static void helper(const struct jit_source *s, const char *dir, int fd)
{
	struct answer a = {0};
	const void *cubin = NULL;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* Whatever the driver or ptxas print, it is not part of the report. */
	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
	}
	setenv("KBN", "off", 1);
	if ((!s->no_driver && link_by_driver(s, &a, &cubin)) ||
	    compile_by_ptxas(s, dir, &a, &cubin)) {
		write_all(fd, &a, sizeof(a));
		write_all(fd, cubin, a.bytes);
	} else {
		a.bytes = 0;
		write_all(fd, &a, sizeof(a));
	}
	_exit(0);
}

/* ---- our side */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

/* `bytes` bytes before the deadline; 0, else an error number (ETIME = too late, EPIPE = the helper ended). */
static int read_until(int fd, void *out, size_t bytes, int64_t deadline_ms)
{
	char *p = out;

	while (bytes) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		int64_t left = deadline_ms - now_ms();
		ssize_t n;

		if (left <= 0)
			return ETIME;
		if (poll(&wait, 1, (int)left) <= 0)
			continue;
		n = read(fd, p, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return EPIPE;
		p += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int receive(int fd, unsigned limit_ms, struct jit_result *result, struct err *e)
{
	int64_t deadline = now_ms() + limit_ms;
	struct answer a;
	uint8_t *cubin;
	int rc = read_until(fd, &a, sizeof(a), deadline);

	if (rc)
		return err_set(e, ERR_IO, -1,
			       rc == ETIME ? "compiling the PTX took longer than %u ms"
					   : "compiling the PTX crashed",
			       limit_ms);
	a.why[sizeof(a.why) - 1] = '\0';
	if (!a.bytes)
		return err_set(e, ERR_NOT_FOUND, -1, "%s", a.why);
	cubin = a.bytes <= CUBIN_MAX ? malloc(a.bytes) : NULL;
	if (!cubin)
		return err_set(e, ERR_MEMORY, -1, "no memory for a cubin of %llu bytes",
			       (unsigned long long)a.bytes);
	if (read_until(fd, cubin, a.bytes, deadline)) {
		free(cubin);
		return err_set(e, ERR_IO, -1, "compiling the PTX ended early");
	}
	*result = (struct jit_result){
		.cubin = cubin, .bytes = a.bytes, .by = a.by_driver ? "driver" : "ptxas"};
	return 0;
}

static void remove_work(const char *dir)
{
	static const char *const files[] = {"in.ptx", "out.cubin", "log"};
	char path[4200];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		unlink(path);
	}
	rmdir(dir);
}

int jit_reconstruct(const struct jit_source *source, struct jit_result *result, struct err *e)
{
	const char *base = getenv("TMPDIR");
	char dir[4096];
	int ends[2], rc;
	pid_t pid;

	if ((size_t)snprintf(dir, sizeof(dir), "%s/kbn-jit-XXXXXX",
			     base && *base ? base : "/tmp") >= sizeof(dir) ||
	    !mkdtemp(dir))
		return err_set(e, ERR_IO, -1, "no room for temporary files: %s", strerror(errno));
	if (pipe2(ends, O_CLOEXEC) < 0) {
		rmdir(dir);
		return err_set(e, ERR_IO, -1, "no pipe: %s", strerror(errno));
	}
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		close(ends[0]);
		helper(source, dir, ends[1]);
	}
	close(ends[1]);
	if (pid > 0) {
		setpgid(pid, pid); /* whichever of the two runs first */
		rc = receive(ends[0], source->limit_ms ? source->limit_ms : LIMIT_MS, result, e);
		kill(-pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
	} else {
		rc = err_set(e, ERR_IO, -1, "no process for the compilation: %s", strerror(errno));
	}
	close(ends[0]);
	remove_work(dir);
	return rc;
}
