/* kernel_view.c - see kernel_view.h. */
#include "kernel_view.h"

#include "arena.h"

int kernel_view_open(struct kernel_view *v, int sm, const struct cubin_function *f, struct err *e)
{
	v->arena = arena_new();
	if (!v->arena)
		return err_set(e, ERR_MEMORY, -1, "no memory for the instructions of a kernel");
	if (cfg_build(&v->cfg, v->arena, sm, f, e) == 0 &&
	    tile_read(&v->cfg, v->arena, &v->tiles, e) == 0)
		return 0;
	kernel_view_close(v);
	return -1;
}

void kernel_view_close(struct kernel_view *v)
{
	arena_free(v->arena);
	v->arena = NULL;
}
