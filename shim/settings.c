/*
 * settings.c - the environment parsed once, at the first successful cuInit.
 *
 * Input: KBN_ variables (table in kbn_env.h) and the variables of the usual launchers. Output:
 * kbn_settings. A value that makes no sense falls back to its default with one message.
 */
#include "settings.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "pattern.h"
#include "state.h"
#include "writer.h"

struct kbn_settings kbn_settings;
KBN_HOT bool kbn_selects;

static const char *const variables[] = {
#define KBN_ENV_VARIABLE(field, variable, option, argument, def, help) variable,
	KBN_ENV_TABLE(KBN_ENV_VARIABLE)
#undef KBN_ENV_VARIABLE
};

static const char *const defaults[] = {
#define KBN_ENV_DEFAULT(field, variable, option, argument, def, help) def,
	KBN_ENV_TABLE(KBN_ENV_DEFAULT)
#undef KBN_ENV_DEFAULT
};

/*
 * Launchers in order of how much they can be trusted: torchrun's own variables first, Slurm's last,
 * because a batch script has them too without having been started as a rank.
 */
static const char *const rank_variables[] = {"RANK",     "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
					     "PMI_RANK", "MV2_COMM_WORLD_RANK",  "SLURM_PROCID",
					     NULL};
static const char *const world_variables[] = {
	"WORLD_SIZE",           "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
	"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS",         NULL};
static const char *const local_variables[] = {"LOCAL_RANK",      "OMPI_COMM_WORLD_LOCAL_RANK",
					      "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK",
					      "SLURM_LOCALID",   NULL};
static const char *const job_variables[] = {"TORCHELASTIC_RUN_ID",
					    "SLURM_JOB_ID",
					    "PMIX_NAMESPACE",
					    "OMPI_MCA_ess_base_jobid",
					    "PBS_JOBID",
					    "LSB_JOBID",
					    NULL};

const char *const kbn_launcher_variables[] = {"RANK",
					      "WORLD_SIZE",
					      "LOCAL_RANK",
					      "TORCHELASTIC_RUN_ID",
					      "OMPI_COMM_WORLD_RANK",
					      "OMPI_COMM_WORLD_SIZE",
					      "OMPI_COMM_WORLD_LOCAL_RANK",
					      "PMIX_RANK",
					      "PMIX_NAMESPACE",
					      "PMI_RANK",
					      "PMI_SIZE",
					      "MV2_COMM_WORLD_RANK",
					      "MV2_COMM_WORLD_SIZE",
					      "SLURM_PROCID",
					      "SLURM_NTASKS",
					      "SLURM_LOCALID",
					      "SLURM_JOB_ID",
					      NULL};

/* ------------------------------------------------------------------------------------- parsing */

static bool parse_number(const char *text, uint64_t *value)
{
	uint64_t v = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || v > (UINT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (uint64_t)(*text - '0');
	}
	*value = v;
	return true;
}

/* A decimal number with up to six decimals, in millionths. */
static bool parse_micro(const char *text, uint64_t *micro)
{
	uint64_t v = 0, scale = 1000000;
	bool digits = false;

	for (; *text >= '0' && *text <= '9' && v < UINT64_MAX / 20; text++, digits = true)
		v = v * 10 + (uint64_t)(*text - '0');
	if (v > UINT64_MAX / 1000000)
		return false;
	v *= 1000000;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9' && scale > 1; text++, digits = true)
			v += (uint64_t)(*text - '0') * (scale /= 10);
	*micro = v;
	return digits && !*text;
}

static void complain(enum kbn_env e)
{
	kbn_say("default used in place of an unusable value of ", variables[e]);
}

static uint64_t number(enum kbn_env e, uint64_t most)
{
	uint64_t v = 0;

	if (!parse_number(kbn_settings.text[e], &v) || v > most) {
		complain(e);
		parse_number(defaults[e], &v);
	}
	return v;
}

static uint64_t micro(enum kbn_env e, uint64_t most)
{
	uint64_t v = 0;

	if (!parse_micro(kbn_settings.text[e], &v) || v > most) {
		complain(e);
		parse_micro(defaults[e], &v);
	}
	return v;
}

/* Index of the value in a list like "off|scalars|full"; that of the default when it is not there. */
static int choice(enum kbn_env e, const char *list)
{
	const char *values[2] = {kbn_settings.text[e], defaults[e]};

	for (int k = 0; k < 2; k++) {
		const size_t n = strlen(values[k]);
		int index = 0;

		for (const char *p = list; p; p = strchr(p, '|'), p = p ? p + 1 : p, index++)
			if (!strncmp(p, values[k], n) && (p[n] == '|' || !p[n]))
				return index;
		complain(e);
	}
	return 0;
}

/* Nothing, or ranks and spans of them: 0,3-5. */
static bool is_rank_list(const char *list)
{
	while (*list) {
		size_t n = strspn(list, "0123456789");

		if (n && list[n] == '-') {
			list += n + 1;
			n = strspn(list, "0123456789");
		}
		if (!n || (list[n] && list[n] != ',') || (list[n] && !list[n + 1]))
			return false;
		list += n + (list[n] == ',');
	}
	return true;
}

static bool flag(enum kbn_env e)
{
	const char *v = kbn_settings.text[e];

	return *v && strcmp(v, "0") && strcmp(v, "off");
}

static const char *first_of(const char *const *names)
{
	for (; *names; names++) {
		const char *v = secure_getenv(*names);

		if (v && *v)
			return v;
	}
	return NULL;
}

static int launcher_number(const char *const *names)
{
	const char *v = first_of(names);
	uint64_t n;

	return v && parse_number(v, &n) && n <= INT32_MAX ? (int)n : -1;
}

static const char *copy(const char *text)
{
	const size_t n = strlen(text) + 1;
	char *c = kbn_alloc(n);

	return c ? memcpy(c, text, n) : "";
}

static enum kbn_timing timing(void)
{
	const int t = choice(KBN_ENV_TIMING, "off|events|cupti|auto");

	if (t == KBN_TIMING_CUPTI)
		kbn_say("KBN_TIMING=cupti is not part of this version: events are used", NULL);
	return t == KBN_TIMING_OFF ? KBN_TIMING_OFF : KBN_TIMING_EVENTS;
}

static struct kbn_pattern kernels; /* of KBN_KERNELS */
static enum { EVERY_KERNEL, MATCHING, NOT_MATCHING } wanted_kernels;

static void read_kernels(void)
{
	const char *text = kbn_settings.text[KBN_ENV_KERNELS];
	const bool leaves_out = *text == '!';

	wanted_kernels = EVERY_KERNEL;
	if (!*text)
		return;
	if (kbn_pattern_compile(&kernels, text + leaves_out))
		wanted_kernels = leaves_out ? NOT_MATCHING : MATCHING;
	else
		kbn_say("every kernel is recorded: bad expression in KBN_KERNELS: ", text);
}

bool kbn_kernel_wanted(const char *name)
{
	return wanted_kernels == EVERY_KERNEL ||
	       kbn_pattern_matches(&kernels, name) == (wanted_kernels == MATCHING);
}

void kbn_settings_read(void)
{
	struct kbn_settings *s = &kbn_settings;

	kbn_stderr_remember();
	for (int e = 0; e < KBN_ENV_N; e++) {
		const char *v = secure_getenv(variables[e]);

		s->text[e] = v && *v ? copy(v) : defaults[e];
	}
	s->timing = timing();
	s->budget_ppm = (uint32_t)(micro(KBN_ENV_BUDGET, 100 * 1000000ull) / 100);
	s->skip = number(KBN_ENV_SKIP, UINT64_MAX);
	s->count = number(KBN_ENV_COUNT, UINT64_MAX);
	s->slot_cap = (uint32_t)number(KBN_ENV_SLOTS, 1u << 24);
	s->exit_wait_ms = (uint32_t)(micro(KBN_ENV_EXIT_WAIT, 86400ull * 1000000) / 1000);
	s->seal_wait_ms = (uint32_t)(micro(KBN_ENV_SEAL_WAIT, 86400ull * 1000000) / 1000);
	s->params = choice(KBN_ENV_PARAMS, "off|scalars|full");
	if (!is_rank_list(s->text[KBN_ENV_RANK])) {
		complain(KBN_ENV_RANK);
		s->text[KBN_ENV_RANK] = defaults[KBN_ENV_RANK];
	}
	read_kernels();
	s->window_profiler = choice(KBN_ENV_WINDOW, "all|profiler") == 1;
	kbn_selects = s->skip || s->count || s->window_profiler || *s->text[KBN_ENV_KERNELS];
	s->copies = flag(KBN_ENV_COPIES);
	s->quiet = flag(KBN_ENV_QUIET);
	s->defer = flag(KBN_ENV_DEFER);
	s->rank = launcher_number(rank_variables);
	s->world = launcher_number(world_variables);
	s->local_rank = launcher_number(local_variables);
}

bool kbn_rank_in_list(const char *list, int rank)
{
	if (!*list)
		return true;
	while (*list) {
		char *end;
		const long from = strtol(list, &end, 10);
		long to = from;

		if (end == list)
			return false;
		if (*end == '-')
			to = strtol(end + 1, &end, 10);
		if (rank >= from && rank <= to)
			return true;
		list = *end == ',' ? end + 1 : "";
	}
	return false;
}

bool kbn_settings_wanted(void)
{
	if (!flag(KBN_ENV_SWITCH))
		return false;
	return kbn_settings.rank < 0 ||
	       kbn_rank_in_list(kbn_settings.text[KBN_ENV_RANK], kbn_settings.rank);
}

/* ------------------------------------------------------------------------------ output template */

struct text {
	char *at, *end;
};

/* A value stays one path component: a job id may hold anything. */
static void put(struct text *t, const char *s, bool is_value)
{
	for (; *s && t->at < t->end; s++)
		*t->at++ = is_value && (*s == '/' || (unsigned char)*s < ' ') ? '_' : *s;
}

static void put_number(struct text *t, uint64_t v)
{
	char digits[24], *p = digits + sizeof(digits) - 1;

	*p = 0;
	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	put(t, p, true);
}

/*
 * What all processes of one job share. torchrun's id is "none" unless the user gives one; its
 * workers, like those of other launchers without an id, have the launcher as their parent.
 */
static void put_job(struct text *t)
{
	const char *job = first_of(job_variables);

	if (job && strcmp(job, "none"))
		put(t, job, true);
	else
		put_number(t, (uint64_t)(kbn_settings.rank >= 0 ? getppid() : getpid()));
}

void kbn_expand_out(const char *tmpl, char *out, size_t bytes)
{
	struct text t = {out, out + bytes - 1};
	struct utsname host;

	for (; *tmpl && t.at < t.end; tmpl++) {
		if (*tmpl != '%') {
			*t.at++ = *tmpl;
			continue;
		}
		switch (*++tmpl) {
		case 'h': put(&t, uname(&host) ? "host" : host.nodename, true); break;
		case 'p': put_number(&t, (uint64_t)getpid()); break;
		case 'r':
			put_number(&t, (uint64_t)(kbn_settings.rank > 0 ? kbn_settings.rank : 0));
			break;
		case 'j': put_job(&t); break;
		case 't': put_number(&t, (uint64_t)time(NULL)); break;
		case '%': put(&t, "%", false); break;
		default: /* not ours: kept as it stands */
			put(&t, "%", false);
			tmpl--;
			break;
		}
	}
	*t.at = 0;
}
