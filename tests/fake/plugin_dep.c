/*
 * plugin_dep.c - found on the run path of plugin_runpath.so only.
 */
int dep_symbol(void);
int dep_symbol(void)
{
	return 1;
}
