/*
 * settings.h - what the environment says: the KBN_ variables, the launcher's rank variables, and
 * the names derived from them.
 */
#ifndef KBN_SHIM_SETTINGS_H
#define KBN_SHIM_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* Fill kbn_settings from the environment (nothing of it in an AT_SECURE program). Texts are copied. */
void kbn_settings_read(void);

/* False when KBN=off, or when KBN_RANK leaves this rank out. */
bool kbn_settings_wanted(void);

/* True when `rank` is in a list like "0,3-5". An empty list has every rank. Exposed for tests. */
bool kbn_rank_in_list(const char *list, int rank);

/* False when KBN_KERNELS leaves kernels of this name out. */
bool kbn_kernel_wanted(const char *name);

/*
 * Expand %h %p %r %j %t %% of an output template into out[bytes]; cut when too long. %r is 0 and %j
 * the pid when there is no launcher. Exposed for tests.
 */
void kbn_expand_out(const char *tmpl, char *out, size_t bytes);

/* Names of launcher variables, for the PROCESS record; NULL at the end. */
extern const char *const kbn_launcher_variables[];

#endif
