/*
 * other_names.c - another library that happens to define what the recorder's internals are called.
 * Whoever calls one of these by mistake ends the process.
 */
#include <stdlib.h>

#define TRAP(name)       \
	void name(void); \
	void name(void)  \
	{                \
		abort(); \
	}
TRAP(kbn_start)
TRAP(kbn_off)
TRAP(kbn_enter)
TRAP(kbn_leave)
TRAP(kbn_self)
TRAP(kbn_recording)
TRAP(kbn_now_ns)
TRAP(kbn_alloc)
TRAP(kbn_log_append)
TRAP(kbn_log_note)
TRAP(kbn_slot_new)
TRAP(kbn_writer_open)
TRAP(kbn_image_capture)
TRAP(kbn_registry_resolve)
TRAP(kbn_time_begin)
TRAP(kbn_time_end)
TRAP(kbn_drain_start)
TRAP(kbn_exit_handler)
TRAP(XXH3_64bits)
TRAP(XXH3_128bits)
