# Link flags of single clients and plug-ins; the rules are in the Makefile.

# Its dependency lies in dep/ beside it. RUNPATH, not RPATH: it counts for the caller only.
$(BUILD)/fake/plugin_runpath.so: EXTRA_LDFLAGS := -Wl,--enable-new-dtags,-rpath,'$$ORIGIN/dep'
# The program's own definitions must be visible to the plug-ins.
$(BUILD)/fake/app_doors: EXTRA_LDFLAGS := -rdynamic
$(BUILD)/fake/app_process: EXTRA_LDFLAGS := -rdynamic
# No loader, so nothing preloads into it, and no driver to link with.
$(BUILD)/fake/app_static: SANFLAGS :=
$(BUILD)/fake/app_static: $(BUILD)/tests/fake/app_static.o
	$(call link,-static $<)
# Like the real driver, it binds its own names to itself: what cuGetProcAddress returns is then the
# driver's function, not the export of whoever is preloaded.
$(BUILD)/fake/libcuda.so.1: EXTRA_LDFLAGS := -Wl,-Bsymbolic
