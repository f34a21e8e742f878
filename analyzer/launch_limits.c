/*
 * launch_limits.c - see launch_limits.h. The limits are those of the CUDA programming guide, table "technical
 * specifications per compute capability"; they are the same from sm_50 on, but for clusters (sm_90 on).
 */
#include "launch_limits.h"

#include <inttypes.h>

#define BLOCK_THREADS 1024
#define GRID_X        INT32_MAX
#define GRID_YZ       65535
#define CLUSTER_MOST  16 /* above 8 only with an attribute of the kernel, on some devices */
#define CLUSTER_SM    90

static int64_t volume(const int64_t v[3])
{
	return v[0] * v[1] * v[2]; /* of sides that were checked */
}

static int64_t volume_of(const uint32_t v[3])
{
	return (int64_t)v[0] * (v[1] ? v[1] : 1) * (v[2] ? v[2] : 1);
}

static int check_sides(const char *option, const int64_t v[3], const int64_t most[3], struct err *e)
{
	for (int i = 0; i < 3; i++)
		if (v[i] < 1 || v[i] > most[i])
			return err_set(e, ERR_USAGE, -1,
				       "%s: %c is %" PRId64 ", CUDA takes 1 to %" PRId64, option,
				       "xyz"[i], v[i], most[i]);
	return 0;
}

static int check_cluster(const struct launch *l, struct err *e)
{
	static const int64_t most[3] = {CLUSTER_MOST, CLUSTER_MOST, CLUSTER_MOST};

	if (!l->cluster[0])
		return 0;
	if (check_sides("--cluster", l->cluster, most, e) != 0)
		return -1;
	if (volume(l->cluster) > CLUSTER_MOST)
		return err_set(e, ERR_USAGE, -1,
			       "--cluster: %" PRId64 " blocks, a cluster has at most %d",
			       volume(l->cluster), CLUSTER_MOST);
	return 0;
}

static int check_divides(const char *what, const int64_t cluster[3], const struct launch *l,
			 struct err *e)
{
	for (int i = 0; i < 3; i++)
		if (l->grid[i] % cluster[i])
			return err_set(e, ERR_USAGE, -1,
				       "--grid: %c is %" PRId64 ", no multiple of the %" PRId64
				       " of the %s",
				       "xyz"[i], l -> grid[i], cluster[i], what);
	return 0;
}

int launch_check(const struct launch *l, struct err *e)
{
	static const int64_t grid[3] = {GRID_X, GRID_YZ, GRID_YZ},
			     block[3] = {BLOCK_THREADS, BLOCK_THREADS, 64};

	if (check_sides("--grid", l->grid, grid, e) != 0 ||
	    check_sides("--block", l->block, block, e) != 0)
		return -1;
	if (volume(l->block) > BLOCK_THREADS)
		return err_set(e, ERR_USAGE, -1,
			       "--block: %" PRId64 " threads, a block has at most %d",
			       volume(l->block), BLOCK_THREADS);
	if (check_cluster(l, e) != 0)
		return -1;
	return l->cluster[0] ? check_divides("cluster", l->cluster, l, e) : 0;
}

static int check_smem(const struct launch *l, const struct arch *a, const struct cubin_function *f,
		      struct err *e)
{
	const int64_t most = (int64_t)a->smem_optin_kb * 1024, fixed = f->static_smem_bytes;

	if (most <= 0 || l->dyn_smem_bytes <= most - fixed)
		return 0;
	return err_set(e, ERR_USAGE, -1,
		       "%s%" PRId64 " bytes of shared memory per block (%" PRId64
		       " static), sm_%d has at most %" PRId64,
		       l->dyn_smem_bytes ? "--dyn-smem: " : "",
		       l->dyn_smem_bytes > INT64_MAX - fixed ? INT64_MAX
							     : l->dyn_smem_bytes + fixed,
		       fixed, a->sm, most);
}

/* What __launch_bounds__, reqntid and the cluster of the source demand. */
static int check_compiled(const struct launch *l, const struct cubin_function *f, struct err *e)
{
	const int64_t threads = volume(l->block), bound = volume_of(f->max_threads);
	const uint32_t *b = f->block;

	if (bound && threads > bound)
		return err_set(e, ERR_USAGE, -1,
			       "--block: %" PRId64
			       " threads, the kernel was compiled for at most %" PRId64
			       " (__launch_bounds__)",
			       threads, bound);
	if (b[0] && (l->block[0] != b[0] || l->block[1] != (b[1] ? b[1] : 1) ||
		     l->block[2] != (b[2] ? b[2] : 1)))
		return err_set(e, ERR_USAGE, -1,
			       "--block: the kernel was compiled for blocks of %u,%u,%u alone",
			       b[0], b[1] ? b[1] : 1, b[2] ? b[2] : 1);
	return 0;
}

static int check_compiled_cluster(const struct launch *l, const struct arch *a,
				  const struct cubin_function *f, struct err *e)
{
	const int64_t c[3] = {f->cluster[0], f->cluster[1] ? f->cluster[1] : 1,
			      f->cluster[2] ? f->cluster[2] : 1};

	if (l->cluster[0] && a->sm < CLUSTER_SM)
		return err_set(e, ERR_USAGE, -1, "--cluster: sm_%d has none, they begin with sm_%d",
			       a->sm, CLUSTER_SM);
	if (!c[0])
		return !f->needs_cluster || l->cluster[0]
			       ? 0
			       : err_set(e, ERR_USAGE, -1,
					 "--cluster is missing: the kernel works in clusters");
	for (int i = 0; l->cluster[0] && i < 3; i++)
		if (l->cluster[i] != c[i])
			return err_set(e, ERR_USAGE, -1,
				       "--cluster: the kernel was compiled for %" PRId64 ",%" PRId64
				       ",%" PRId64,
				       c[0], c[1], c[2]);
	return check_divides("cluster that was compiled in", c, l, e);
}

int launch_check_kernel(const struct launch *l, const struct arch *a,
			const struct cubin_function *f, struct err *e)
{
	if (launch_check(l, e) != 0 || check_compiled(l, f, e) != 0 ||
	    check_compiled_cluster(l, a, f, e) != 0)
		return -1;
	return check_smem(l, a, f, e);
}

int launch_check_args(const struct given *g, const struct cubin_function *f, struct err *e)
{
	if (g->params && g->params_n != f->param_bytes)
		return err_set(e, ERR_USAGE, -1, "--params has %zu bytes, the kernel takes %u",
			       g->params_n, f->param_bytes);
	if (g->args_n && g->args_n != f->params_n)
		return err_set(e, ERR_USAGE, -1,
			       "--arg gives %zu, and the arguments of the kernel are %zu",
			       g->args_n, f->params_n);
	for (size_t i = 0; i < g->args_n; i++)
		if (g->args[i].bytes_n != f->params[i].bytes)
			return err_set(e, ERR_USAGE, -1,
				       "--arg %s: argument %zu of the kernel has %u bytes, not %zu",
				       g->args[i].type, i + 1, f->params[i].bytes,
				       g->args[i].bytes_n);
	return 0;
}
