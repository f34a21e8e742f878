/*
 * cmd_occupancy.c - `kbn occupancy`: the calculator, for a kernel that need not exist.
 */
#include "cmd.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arch.h"
#include "count.h"
#include "occupancy.h"
#include "options.h"
#include "render.h"
#include "text.h"

/* --carveout: percent up to here, bytes above. No SM can be set to so few bytes. */
#define CARVEOUT_PCT_MAX 100

struct request {
	const char *arch, *device;
	int64_t registers, static_smem, dyn_smem, barriers, carveout;
	int64_t block[3], cluster[3], grid[3];
	bool json, help;
};

#define OPTIONS(q)                                                                                 \
	{"--arch", OPTION_TEXT, &(q)->arch, "sm_XX", "the architecture, or"},                      \
		{"--device", OPTION_TEXT, &(q)->device, "NAME",                                    \
		 "a device or profile of `kbn devices`; not both"},                                \
		{"--registers", OPTION_NUMBER, &(q)->registers, "N",                               \
		 "registers per thread (needed; ptxas -v or a report of kbn says how many)"},      \
		{"--block", OPTION_TRIPLE, &(q)->block, "X[,Y[,Z]]",                               \
		 "threads of a block (needed)"},                                                   \
		{"--smem", OPTION_NUMBER, &(q)->static_smem, "BYTES",                              \
		 "static shared memory per block"},                                                \
		{"--dyn-smem", OPTION_NUMBER, &(q)->dyn_smem, "BYTES",                             \
		 "dynamic shared memory per block"},                                               \
		{"--grid", OPTION_TRIPLE, &(q)->grid, "X[,Y[,Z]]",                                 \
		 "blocks; then waves are told (needs --device)"},                                  \
		{"--cluster", OPTION_TRIPLE, &(q)->cluster, "X[,Y[,Z]]", "blocks of a cluster"},   \
		{"--barriers", OPTION_NUMBER, &(q)->barriers, "N",                                 \
		 "named barriers per block (1)"},                                                  \
		{"--carveout", OPTION_NUMBER, &(q)->carveout, "PCT|BYTES",                         \
		 "preferred share of shared memory (up to 100), or bytes the SM was set to"},      \
		{"--json", OPTION_FLAG, &(q)->json, NULL, "the objects occupancy and smem_cliff"}, \
	{                                                                                          \
		"--help", OPTION_FLAG, &(q)->help, NULL, "this text"                               \
	}

static uint64_t product_of(const int64_t v[3])
{
	return count_product(count_product((uint64_t)v[0], (uint64_t)v[1]), (uint64_t)v[2]);
}

static int find_device(const struct request *q, struct arch_device *d, struct err *e)
{
	const struct product *p;
	int sm;

	if (!q->device && !q->arch)
		return err_set(e, ERR_USAGE, -1, "give --arch or --device");
	if (q->device && q->arch)
		return err_set(e, ERR_USAGE, -1, "give --arch or --device, not both");
	if (q->device && (p = product_find(q->device))) {
		arch_describe_product(d, p);
		return 0;
	}
	sm = arch_parse(q->device ? q->device : q->arch);
	if (sm < 0)
		return cmd_no_device(q->device ? q->device : q->arch, e);
	arch_describe(d, "", sm, false, NULL, 0);
	return d->arch_known
		       ? 0
		       : err_set(e, ERR_USAGE, -1, "no row for sm_%d in the hardware table", sm);
}

static int check(const struct request *q, struct err *e)
{
	if (!q->block[0])
		return err_set(e, ERR_USAGE, -1, "--block is missing");
	if (product_of(q->block) > 1024)
		return err_set(e, ERR_USAGE, -1, "a block has at most 1024 threads");
	if (q->registers < 0)
		return err_set(e, ERR_USAGE, -1, "--registers is missing");
	if (q->registers > 255)
		return err_set(e, ERR_USAGE, -1, "a thread has at most 255 registers");
	if (q->static_smem > INT32_MAX / 4 || q->dyn_smem > INT32_MAX / 4)
		return err_set(e, ERR_USAGE, -1, "no SM has that much shared memory");
	if (q->barriers > 16)
		return err_set(e, ERR_USAGE, -1, "a block has at most 16 barriers");
	if (q->grid[0] && !(q->device && product_find(q->device)))
		return err_set(e, ERR_USAGE, -1,
			       "--grid needs --device NAME: waves depend on the number of SMs");
	if (q->carveout > INT32_MAX / 4)
		return err_set(e, ERR_USAGE, -1, "no SM has that much shared memory");
	return 0;
}

static void print_text(const struct arch_device *d, const struct occupancy *o,
		       const struct smem_cliff *c, int published)
{
	char a[TEXT_NUMBER], full[TEXT_NUMBER], idle[TEXT_NUMBER], room[RENDER_ROOM];

	printf("sm_%d%s%s%s\n", d->arch.sm, d->arch_exact ? "" : " (nearest row)",
	       *d->name ? ", " : "", d->name);
	render_text_occupancy(o, 2, stdout);
	if (o->why)
		printf("note: %s\n", o->why);
	if (o->blocks_per_sm > 0)
		printf("%s\n", render_room(room, o));
	if (!isnan(o->waves))
		printf("%s waves, the last %s full, %s of the SM time idle at the end\n",
		       text_ratio(a, o->waves), text_pct(full, o->last_wave_pct),
		       text_pct(idle, o->tail_waste_pct));
	if (o->clusters_at_most >= 0)
		printf("at most %lld clusters resident on the device (how many fit a GPC of this chip is not known)\n",
		       (long long)o->clusters_at_most);
	printf("shared memory: %lld bytes per block%s; room for",
	       (long long)c->smem_per_block_bytes, c->above_cliff ? ", above the cliff" : "");
	for (int i = 0; i < SMEM_CLIFF_STEPS; i++)
		printf("%s %d block%s up to %s", i ? "," : "", i + 1, i ? "s" : "",
		       text_count(a, (uint64_t)c->max_bytes_for[i]));
	printf(" bytes\n");
	if (published >= 0)
		printf("published cliff: %d bytes (without the reserve)\n", published);
}

int cmd_occupancy(int argc, char **argv)
{
	struct request q = {.registers = -1, .barriers = 1, .carveout = -1};
	const struct option_spec table[] = {OPTIONS(&q)};
	const size_t options = sizeof(table) / sizeof(*table);
	const char *operands[CMD_WORDS];
	struct err e = {.offset = -1};
	struct arch_device d;
	struct occupancy_input in;
	struct occupancy o;
	struct smem_cliff c = {0};
	size_t n;
	int published;

	if (argc > CMD_WORDS)
		return cmd_too_many("occupancy");
	if (options_parse(table, options, argc, argv, operands, &n, &e) != 0)
		return cmd_fail("occupancy", &e);
	if (q.help) {
		printf("usage: kbn occupancy --arch sm_XX | --device NAME  --registers N --block X[,Y[,Z]] [options]\n");
		options_help(table, options, stdout);
		return CMD_GOOD;
	}
	if (n > 0)
		err_set(&e, ERR_USAGE, -1, "unexpected word %s", operands[0]);
	if (n > 0 || check(&q, &e) != 0 || find_device(&q, &d, &e) != 0)
		return cmd_fail("occupancy", &e);
	in = (struct occupancy_input){
		.registers = (int)q.registers,
		.block_threads = count_int(product_of(q.block)),
		.static_smem_bytes = q.static_smem,
		.dyn_smem_bytes = q.dyn_smem,
		.barriers = (int)q.barriers,
		.cluster_blocks = count_int(product_of(q.cluster)),
		.carveout = q.carveout > CARVEOUT_PCT_MAX ? -1 : (int)q.carveout,
		.smem_config_bytes = q.carveout > CARVEOUT_PCT_MAX ? q.carveout : 0,
		.grid_blocks = product_of(q.grid),
		.sm_count = d.sm_count,
	};
	occupancy_compute(&o, &d.arch, &in);
	smem_cliff_compute(&c, &d.arch, &in);
	published = d.product ? d.product->published_cliff_bytes : -1;
	if (!q.json)
		print_text(&d, &o, &c, published);
	else if (render_json_occupancy(&o, &c, published, stdout, &e) != 0)
		return cmd_fail("occupancy", &e);
	return CMD_GOOD;
}
