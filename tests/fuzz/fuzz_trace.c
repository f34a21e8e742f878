/*
 * fuzz_trace.c - hostile recordings, as one process directory. Whatever the bytes: an error or a
 * session whose parts fit each other and whose accounting adds up.
 * Input: a byte of flags, two 32-bit lengths, then log.kbn, slots.kbn and sketch.kbn in a row.
 * Flag 1: checksums of the log's records are put right, so that changed payloads get past them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kbn_hash.h"
#include "kbn_trace.h"
#include "session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[64];

static void check(int holds)
{
	if (!holds)
		abort();
}

static void drop_dir(void)
{
	static const char *const files[] = {"/" KBN_LOG_FILE, "/" KBN_SLOTS_FILE,
					    "/" KBN_SKETCH_FILE, ""};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[96];

		snprintf(path, sizeof(path), "%s%s", dir, files[i]);
		remove(path);
	}
}

static void write_file(const char *name, const uint8_t *data, size_t bytes)
{
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	check(f && fwrite(data, 1, bytes, f) == bytes);
	fclose(f);
}

static void mend_checks(uint8_t *log, size_t bytes)
{
	struct kbn_file_header h;
	struct kbn_rec r;

	if (bytes < sizeof(h))
		return;
	memcpy(&h, log, sizeof(h));
	for (uint64_t at = h.header_bytes; at + sizeof(r) <= bytes;
	     at += sizeof(r) + (r.bytes + 7ull) / 8 * 8) {
		memcpy(&r, log + at, sizeof(r));
		if (r.bytes > bytes - at - sizeof(r))
			return;
		r.check = (uint32_t)kbn_hash64(log + at + sizeof(r), r.bytes);
		memcpy(log + at, &r, sizeof(r));
	}
}

static void check_times(const struct session_times *t)
{
	check(!t->early_n || t->early);
	for (size_t i = 1; i < t->early_n; i++)
		check((t->early[i - 1].launch & ~KBN_EARLY_PLAIN) <=
		      (t->early[i].launch & ~KBN_EARLY_PLAIN));
	check(!t->samples || t->min_ns <= t->max_ns);
}

static void check_session(const struct session *s)
{
	for (size_t i = 0; i < s->runs_n; i++) {
		const struct session_run *r = &s->runs[i];
		const uint64_t bins[] = {r->timed,  r->sampled_out, r->untimeable, r->captured,
					 r->failed, r->unfinished,  r->filtered,   r->dropped};
		uint64_t sum = 0;

		for (size_t k = 0; k < sizeof(bins) / sizeof(bins[0]); k++)
			sum = __builtin_add_overflow(sum, bins[k], &sum) ? UINT64_MAX : sum;
		check(sum == r->seen);
		check(r->host && r->driver && r->foreign && r->dir);
		for (size_t k = 0; k < r->argc; k++)
			check(strlen(r->argv[k]) < 1 << 28);
		for (size_t k = 0; k < r->env_n; k++)
			check(r->env[k].key && r->env[k].value);
	}
	for (size_t i = 0; i < s->shapes_n; i++) {
		const struct session_shape *h = &s->shapes[i];

		check(h->device < s->devices_n);
		check(h->kernel >= s->kernels && h->kernel < s->kernels + s->kernels_n);
		check(!h->kernel->image || (h->kernel->image >= s->images &&
					    h->kernel->image < s->images + s->images_n));
		check(h->params_n <= SESSION_PARAMS_MAX);
		check(!i || s->shapes[i - 1].device <= h->device);
		check_times(&h->times);
	}
	for (size_t i = 0; i < s->graphs_n; i++) {
		check(s->graphs[i].run < s->runs_n);
		check_times(&s->graphs[i].times);
	}
	for (size_t i = 0; i < s->notes_n; i++)
		check(s->notes[i].text &&
		      (s->notes[i].run < s->runs_n || s->notes[i].run == SESSION_NO_RUN));
	for (size_t i = 0; i < s->images_n; i++)
		check(!s->images[i].path == !!s->images[i].why_missing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *dirs[] = {dir};
	struct err e = {0};
	struct session s;
	uint32_t log, slots;
	uint8_t *copy;

	if (size < 9)
		return 0;
	if (!dir[0]) {
		snprintf(dir, sizeof(dir), "/tmp/kbn-fuzz-XXXXXX");
		check(mkdtemp(dir) != NULL);
		atexit(drop_dir);
	}
	memcpy(&log, data + 1, 4);
	memcpy(&slots, data + 5, 4);
	copy = malloc(size);
	memcpy(copy, data + 9, size - 9);
	size -= 9;
	log = log < size ? log : (uint32_t)size;
	slots = slots < size - log ? slots : (uint32_t)(size - log);
	if (data[0] & 1)
		mend_checks(copy, log);
	write_file(KBN_LOG_FILE, copy, log);
	write_file(KBN_SLOTS_FILE, copy + log, slots);
	write_file(KBN_SKETCH_FILE, copy + log + slots, size - log - slots);
	free(copy);
	if (session_open(&s, dirs, 1, -1, &e) < 0) {
		check(e.code != ERR_NONE && e.text[0]);
		return 0;
	}
	check_session(&s);
	session_close(&s);
	return 0;
}
