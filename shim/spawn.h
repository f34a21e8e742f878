/*
 * spawn.h - runs one program from inside another one's exit, so that the host cannot notice: no
 * SIGCHLD, nothing for its wait() to find, no fork handlers, no copy of its memory.
 */
#ifndef KBN_SHIM_SPAWN_H
#define KBN_SHIM_SPAWN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Run `path` with stdin from /dev/null, stdout and stderr both the host's stderr (/dev/null when
 * that is not safe, see log.h), no other descriptor, the host's signal mask, default signal
 * handlers; wait up to `wait_ns`. `argv`, `envp` and `path` must stay unchanged for as long as this process lives.
 * The exit status (127 = could not be run), -1 when no process could be made, -2 when it still runs.
 */
int kbn_spawn(const char *path, char *const argv[], char *const envp[], uint64_t wait_ns);

#endif
