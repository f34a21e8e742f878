/*
 * process.c - the PROCESS record: command line, launcher and CUDA environment, driver, and whether
 * another profiler is at work. Input: /proc and the environment. Leaves settings to settings.c.
 */
#include "process.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "hook.h"
#include "log.h"
#include "settings.h"
#include "state.h"
#include "sys.h"
#include "writer.h"

extern char **environ;

#define SCRATCH_BYTES (64u << 10) /* strings of the record; longer command lines are cut */

/* ----------------------------------------------------------------------------------- redaction */

static bool sounds_secret(const char *name, size_t n)
{
	static const char *const words[] = {"token", "secret", "passw", "key", "credential"};

	for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
		for (size_t i = 0, k = strlen(words[w]); i + k <= n; i++)
			if (!strncasecmp(name + i, words[w], k))
				return true;
	return false;
}

size_t kbn_redact(char *strings, size_t bytes)
{
	char *out = strings;
	bool hide_next = false;

	for (char *s = strings, *end = strings + bytes; s < end;) {
		const size_t n = strnlen(s, (size_t)(end - s));
		char *next = s + n + 1;
		const char *equals = memchr(s, '=', n);
		const size_t name = equals ? (size_t)(equals - s) : n;
		size_t keep = n;

		if (hide_next && *s != '-')
			keep = 0;
		else if (equals && sounds_secret(s, name))
			keep = name + 1;
		hide_next = keep && !equals && *s == '-' && sounds_secret(s, n);
		memmove(out, s, keep);
		out += keep;
		if (keep < n)
			*out++ = '*';
		if (next <= end)
			*out++ = 0;
		s = next;
	}
	return (size_t)(out - strings);
}

/* ---------------------------------------------------------------------------------- the strings */

static struct strings {
	char *text;
	size_t used;
	uint32_t count;
} strings;

static char driver[32]; /* version of the kernel module */

static ssize_t read_file(const char *path, char *buffer, size_t bytes)
{
	const int fd = kbn_fd_open(path, O_RDONLY);
	const ssize_t n = fd < 0 ? -1 : kbn_fd_read(fd, buffer, bytes);

	if (fd >= 0)
		kbn_fd_close(fd);
	return n;
}

static void read_command_line(struct strings *s)
{
	/* Half of the space stays for the environment. */
	const ssize_t n = read_file("/proc/self/cmdline", s->text, SCRATCH_BYTES / 2);

	s->used = kbn_redact(s->text, n > 0 ? (size_t)n : 0);
	if (s->used && s->text[s->used - 1])
		s->text[s->used++] = 0;
	for (size_t i = 0; i < s->used; i++)
		s->count += !s->text[i];
}

static bool is_recorded(const char *entry)
{
	if (!strncmp(entry, "CUDA_", 5) || !strncmp(entry, "KBN", 3))
		return true;
	for (const char *const *v = kbn_launcher_variables; *v; v++) {
		const size_t n = strlen(*v);

		if (!strncmp(entry, *v, n) && entry[n] == '=')
			return true;
	}
	return false;
}

static void add_environment(struct strings *s)
{
	for (char **e = environ; e && *e; e++) {
		const size_t n = strlen(*e) + 1;

		if (!is_recorded(*e) || n > SCRATCH_BYTES - s->used)
			continue;
		memcpy(s->text + s->used, *e, n);
		s->used += kbn_redact(s->text + s->used, n);
		s->count++;
	}
}

/* ------------------------------------------------------------------------------------ the facts */

/* First word like 580.159.04 of the kernel module's description. */
static void read_driver_version(char *out, size_t bytes)
{
	char text[256];
	const ssize_t n = read_file("/proc/driver/nvidia/version", text, sizeof(text) - 1);
	size_t k;

	if (n <= 0)
		return;
	text[n] = 0;
	for (char *p = text; (p = strpbrk(p, "0123456789")); p += k + 1) {
		k = strspn(p, "0123456789.");
		if (memchr(p, '.', k) && p > text && p[-1] == ' ') {
			if (k > bytes - 1)
				k = bytes - 1;
			memcpy(out, p, k);
			return;
		}
		if (!p[k])
			return;
	}
}

/*
 * Another profiler in charge of this process: its kernel replay or its patches would be inside our
 * times. A mapped libcupti alone says nothing, PyTorch maps it in every run.
 */
static const char *foreign_profiler(void)
{
	const char *injected = secure_getenv("CUDA_INJECTION64_PATH");

	for (char **e = environ; e && *e; e++) {
		if (!strncmp(*e, "NSYS_PROFILING_SESSION_ID=", 26))
			return "Nsight Systems";
		if (!strncmp(*e, "NV_COMPUTE_PROFILER_", 20) ||
		    !strncmp(*e, "NV_TPS_LAUNCH_TOKEN=", 20))
			return "Nsight Compute";
		if (!strncmp(*e, "NV_SANITIZER_", 13))
			return "Compute Sanitizer";
	}
	if (injected && *injected && !strstr(injected, "libkbn"))
		return "CUDA_INJECTION64_PATH";
	return "";
}

static void set_text(char *out, size_t bytes, const char *text)
{
	size_t n = strlen(text);

	memcpy(out, text, n < bytes ? n : bytes - 1);
}

static void write_record(const struct strings *s, uint32_t argc)
{
	struct kbn_rec_process p = {0};
	struct utsname host;
	int api = 0;

	p.pid = (uint32_t)getpid();
	p.ppid = (uint32_t)getppid();
	p.rank = kbn_settings.rank;
	p.world = kbn_settings.world;
	p.local_rank = kbn_settings.local_rank;
	p.argc = argc;
	p.strings = s->count;
	if (real.cuDriverGetVersion && real.cuDriverGetVersion(&api) == CUDA_SUCCESS)
		p.driver_api = (uint32_t)api;
	set_text(p.host, sizeof(p.host), uname(&host) ? "" : host.nodename);
	set_text(p.driver, sizeof(p.driver), driver);
	set_text(p.foreign, sizeof(p.foreign), foreign_profiler());
	p.start_unix_ns = kbn_writer_header()->file.start_unix_ns;
	kbn_log_append(KBN_REC_PROCESS, 0, (struct iovec[]){{&p, sizeof(p)}, {s->text, s->used}},
		       2);
	if (*p.foreign)
		kbn_log_note(KBN_NOTE_FOREIGN, 0, p.foreign);
}

void kbn_process_read(void)
{
	memset(&strings, 0, sizeof(strings));
	memset(driver, 0, sizeof(driver));
	strings.text = kbn_map_memory(SCRATCH_BYTES, PROT_READ | PROT_WRITE);
	if (strings.text)
		read_command_line(&strings);
	read_driver_version(driver, sizeof(driver));
}

void kbn_process_record(void)
{
	const uint32_t argc = strings.count;

	if (!strings.text)
		return;
	add_environment(&strings);
	write_record(&strings, argc);
	munmap(strings.text, SCRATCH_BYTES);
	if (kbn_driver_symbol("kbn_stand_in_driver"))
		kbn_log_note(KBN_NOTE_SIMULATED, 0, NULL);
}
