# Makefile - builds everything under $(BUILD), knows every source by wildcard, runs every check.
#
# Two halves that share include/ only: shim/ becomes libkbn.so (libc, libdl, libpthread and nothing
# else), analyzer/ becomes libkbn_analyzer.a and the program kbn. `make help` lists the targets.
#
#   make BUILD=dir | CC=clang | V=1 | SAN=address,undefined | SAN=thread | CROSS=aarch64-linux-gnu

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:

VERSION := 0.1.0
PREFIX  ?= /usr/local
SAN     ?=
CROSS   ?=
COVER   ?=
V       ?= 0

# Every combination has its own folder, so that objects of two kinds never meet.
comma := ,
BUILD ?= build$(if $(SAN),-$(firstword $(subst $(comma), ,$(SAN))))$(if $(COVER),-cover)$(if $(CROSS),-$(firstword $(subst -, ,$(CROSS))))

ifeq ($(origin CC),default)
CC := $(if $(CROSS),$(CROSS)-)gcc
endif
AR := $(if $(CROSS),$(CROSS)-)ar
NVCC ?= $(firstword $(wildcard /usr/local/cuda/bin/nvcc) $(shell command -v nvcc 2>/dev/null))
Q := $(if $(filter 0,$(V)),@)
say = $(if $(filter 0,$(V)),@printf '  %-7s %s\n' $(1) $(patsubst $(BUILD)/%,%,$@))

# ---------------------------------------------------------------------------------------- flags

WARN     := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla -Werror
OPT      ?= -O2
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer $(if $(findstring undefined,$(SAN)),-fno-sanitize-recover=undefined))
COVFLAGS := $(if $(COVER),--coverage -fprofile-update=atomic)
# A cross compiler does not look where the distribution keeps headers that are the same everywhere
# (xxhash.h); -idirafter reaches those without hiding the target's own.
CPPBASE  := -D_GNU_SOURCE -DKBN_VERSION='"$(VERSION)"' -Iinclude $(if $(CROSS),-idirafter /usr/include)
CBASE    := -std=gnu11 $(OPT) -g -fPIC $(WARN) -MMD -MP $(SANFLAGS) $(COVFLAGS) $(CFLAGS)

# Initial-exec: the first touch of a dynamic TLS block may call malloc under the program's feet.
# compat.h binds to the oldest symbol versions; forced, so that no file can forget it.
SHIM_CFLAGS     := $(CPPBASE) -Ishim -include shim/compat.h $(CBASE) -fvisibility=hidden -ftls-model=initial-exec
ANALYZER_CFLAGS := $(CPPBASE) -Ianalyzer $(CBASE)
TEST_CFLAGS     := $(CPPBASE) -Ianalyzer -Ishim -Itests -Itests/unit -Itests/fake $(CBASE)
FAKE_CFLAGS     := $(CPPBASE) -Itests/fake $(CBASE)

# -z nodelete   hooks stay callable after a dlclose of an injected shim
# -Bsymbolic    our own calls reach our own code whatever else is preloaded
# -z now        no lazy binding: the resolver would put its register save area (up to 3 KB) on the
#               small stack of a fiber in the middle of a launch, and could meet the loader lock
# -z noseparate-code   two mappings in place of four for every process that never uses CUDA
SHIM_LDFLAGS := -shared -Wl,-soname,libkbn.so -Wl,--exclude-libs,ALL -Wl,-z,nodelete -Wl,-Bsymbolic \
	-Wl,-z,now -Wl,-z,relro -Wl,-z,noseparate-code -Wl,--hash-style=gnu $(if $(SAN),,-Wl,-z,defs) $(SANFLAGS) $(COVFLAGS) $(LDFLAGS)
# Nothing but libc is NEEDED: compat.h says why.
SHIM_LIBS := -Wl,--as-needed -ldl -lpthread
ANALYZER_LIBS := -Wl,--as-needed -ldw -lelf -lzstd -llz4 -ljansson -lpcre2-8 -liberty -lm -ldl -lpthread

# ---------------------------------------------------------------------------------------- sources

SHIM_SRC     := $(wildcard shim/*.c)
STACK_SRC    := $(wildcard shim/stack/*.c)
ANALYZER_SRC := $(wildcard analyzer/*.c)
UNIT_SRC     := $(wildcard tests/unit/test_*.c)
FUZZ_SRC     := $(filter-out %/fuzz_replay.c,$(wildcard tests/fuzz/fuzz_*.c))
FAKE_SRC     := $(wildcard tests/fake/fake_*.c)
APP_SRC      := $(wildcard tests/fake/app_*.c)
PLUGIN_SRC   := $(wildcard tests/fake/plugin_*.c tests/fake/other_*.c tests/fake/*_hook.c)
DEMO_SRC     := $(wildcard samples/demo.c)
CU_SRC       := $(wildcard samples/*.cu)

# A test that begins with this line is linked with the shim's objects, else with the analyzer.
of_shim    = $(if $(1),$(shell grep -l '^/\* unit: shim \*/' $(1)))
UNIT_SHIM := $(call of_shim,$(UNIT_SRC))
FUZZ_SHIM := $(call of_shim,$(FUZZ_SRC))

# Entered before the runtime of a sanitizer has started (it looks up symbols while starting); the
# static client has no runtime to link with.
NOSAN := shim/dlsym.c shim/hook.c tests/fake/app_static.c

obj = $(patsubst %.c,$(BUILD)/%.o,$(1))
# The shim once more with its fault switches (KBN_FAULT=alloc:7), for unit tests and fault sweeps.
faulty = $(patsubst shim/%.c,$(BUILD)/shim-faults/%.o,$(1))

SHIM_UNIT_OBJ := $(call faulty,$(filter-out shim/dlsym.c,$(SHIM_SRC))) \
	$(if $(wildcard shim/dlsym.c),$(BUILD)/shim-faults/dlsym.unit.o)

LIBKBN  := $(if $(SHIM_SRC),$(BUILD)/libkbn.so)
UNWIND  := $(if $(STACK_SRC),$(shell echo '#include <libunwind.h>' | $(CC) -E -x c - >/dev/null 2>&1 && echo y))
STACK   := $(if $(UNWIND),$(BUILD)/libkbn-stack.so)
FAULTS  := $(if $(SHIM_SRC),$(BUILD)/faults/libkbn.so)
KBN     := $(if $(wildcard analyzer/main.c),$(BUILD)/kbn)
FAKE    := $(if $(FAKE_SRC),$(BUILD)/fake/libcuda.so.1)
APPS    := $(patsubst tests/fake/%.c,$(BUILD)/fake/%,$(APP_SRC))
PLUGINS := $(patsubst tests/fake/%.c,$(BUILD)/fake/%.so,$(PLUGIN_SRC))
DEMO    := $(if $(DEMO_SRC),$(BUILD)/samples/demo)
UNITS   := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(UNIT_SRC))
REPLAYS := $(patsubst tests/fuzz/fuzz_%.c,$(BUILD)/fuzz/replay_%,$(FUZZ_SRC))
FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(FUZZ_SRC))
SAMPLES := $(patsubst samples/%.cu,$(BUILD)/samples/%,$(CU_SRC))

# ---------------------------------------------------------------------------------------- products

.PHONY: all shim analyzer fake
all: shim analyzer fake $(DEMO)                 ## build libkbn.so, kbn, the stand-in driver and the demo
shim: $(LIBKBN) $(STACK)                        ## the recording library only
analyzer: $(BUILD)/libkbn_analyzer.a $(KBN)     ## the offline half only
fake: $(FAKE) $(APPS) $(PLUGINS) $(FAULTS)      ## the stand-in driver, its clients, the fault-injecting shim

# Objects depend on this file: changed flags rebuild, equal flags do not.
FLAGS := $(CC) $(SHIM_CFLAGS) $(SHIM_LDFLAGS) $(SHIM_LIBS) $(ANALYZER_LIBS) $(LDFLAGS)
$(BUILD)/.flags: FORCE
	@mkdir -p $(BUILD)
	@printf '%s\n' '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(FLAGS))' > $@
.PHONY: FORCE
FORCE:

# EXTRA_CFLAGS, EXTRA_LDFLAGS and EXTRA_LIBS are empty unless a flags.mk sets them for one target.
define cc
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(1) $(if $(SAN),$(if $(filter $<,$(NOSAN)),-fno-sanitize=all)) $(EXTRA_CFLAGS) -c -o $@ $<
endef
define link
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(SANFLAGS) $(COVFLAGS) $(LDFLAGS) $(EXTRA_LDFLAGS) -o $@ $(1) $(EXTRA_LIBS)
endef

$(BUILD)/shim/%.o: shim/%.c $(BUILD)/.flags
	$(call cc,$(SHIM_CFLAGS))
$(BUILD)/shim-faults/%.unit.o: shim/%.c $(BUILD)/.flags
	$(call cc,$(SHIM_CFLAGS) -DKBN_FAULTS -DKBN_UNIT)
$(BUILD)/shim-faults/%.o: shim/%.c $(BUILD)/.flags
	$(call cc,$(SHIM_CFLAGS) -DKBN_FAULTS)
$(BUILD)/analyzer/%.o: analyzer/%.c $(BUILD)/.flags
	$(call cc,$(ANALYZER_CFLAGS))
$(BUILD)/tests/fake/%.o: tests/fake/%.c $(BUILD)/.flags
	$(call cc,$(FAKE_CFLAGS))
$(BUILD)/tests/%.o: tests/%.c $(BUILD)/.flags
	$(call cc,$(TEST_CFLAGS))
$(BUILD)/samples/%.o: samples/%.c $(BUILD)/.flags
	$(call cc,$(CPPBASE) $(CBASE))

# The export list is made from the table of hooks. The node is anonymous: under a named node of
# ours the loader passes our dlsym by, since callers ask for glibc's node.
$(BUILD)/libkbn.map: shim/hooks.def
	@mkdir -p $(@D)
	$(call say,MAP)
	$(Q){ echo '{ global: dlsym; dlvsym; InitializeInjection;'; \
	  printf '#define KBN_HOOK(symbol, ...) symbol;\n#include "hooks.def"\n' | $(CC) -E -P -undef -x c -Ishim - ; \
	  echo 'local: *; };'; } > $@

$(BUILD)/libkbn.so: $(call obj,$(SHIM_SRC)) $(BUILD)/libkbn.map $(BUILD)/.flags
	$(call link,$(SHIM_LDFLAGS) -Wl$(comma)--version-script=$(BUILD)/libkbn.map $(filter %.o,$^) $(SHIM_LIBS))
$(BUILD)/faults/libkbn.so: $(call faulty,$(SHIM_SRC)) $(BUILD)/libkbn.map $(BUILD)/.flags
	$(call link,$(SHIM_LDFLAGS) -Wl$(comma)--version-script=$(BUILD)/libkbn.map $(filter %.o,$^) $(SHIM_LIBS))
$(BUILD)/libkbn-stack.so: $(call obj,$(STACK_SRC))
	$(call link,-shared -Wl$(comma)-soname$(comma)libkbn-stack.so -Wl$(comma)-z$(comma)now $^ -lunwind -ldl)

$(BUILD)/libkbn_analyzer.a: $(call obj,$(filter-out analyzer/main.c,$(ANALYZER_SRC)))
	@mkdir -p $(@D)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/kbn: $(BUILD)/analyzer/main.o $(BUILD)/libkbn_analyzer.a
	$(call link,$^ $(ANALYZER_LIBS))

# Tools of the SASS decoder's checks: words as text, control codes against operands, speed.
GOLDEN_TOOLS := $(patsubst tests/golden/%.c,$(BUILD)/golden/%,$(wildcard tests/golden/*.c))
$(BUILD)/golden/%: $(BUILD)/tests/golden/%.o $(BUILD)/libkbn_analyzer.a
	$(call link,$^ $(ANALYZER_LIBS))
.PHONY: golden-tools
golden-tools: $(GOLDEN_TOOLS)                   ## tools that compare the SASS decoder with others

# Clients that call the driver directly get it in NEEDED, the others do not; none has a run path.
$(BUILD)/fake/libcuda.so.1: $(call obj,$(FAKE_SRC))
	$(call link,-shared -Wl$(comma)-soname$(comma)libcuda.so.1 $^ -ldl -lpthread)
$(BUILD)/fake/app_%: $(BUILD)/tests/fake/app_%.o $(FAKE)
	$(call link,$< -Wl$(comma)--as-needed -L$(BUILD)/fake -l:libcuda.so.1 -Wl$(comma)--no-as-needed -ldl -lpthread)
$(PLUGINS): $(BUILD)/fake/%.so: $(BUILD)/tests/fake/%.o $(FAKE)
	$(call link,-shared $< -Wl$(comma)--as-needed -L$(BUILD)/fake -l:libcuda.so.1 -ldl -lpthread)
$(BUILD)/samples/demo: $(BUILD)/samples/demo.o
	$(call link,$^ -ldl -lm)
# What a sample says in a line "Build: FLAGS" of its first comment; an architecture unless it names one.
built_with = $(shell sed -n 's/^ \* Build: //p' $(1))
for_arch   = $(if $(findstring arch=,$(1)),,-arch=$(or $(SM),native))
$(BUILD)/samples/%: samples/%.cu $(wildcard samples/*.h)
	@mkdir -p $(@D)
	$(call say,NVCC)
	$(Q)$(NVCC) $(or $(call built_with,$<),-O3 -lineinfo) $(call for_arch,$(call built_with,$<)) -std=c++17 -o $@ $< $(EXTRA_LIBS)
.PHONY: samples
samples: $(DEMO) $(if $(NVCC),$(SAMPLES))       ## the sample programs (those in .cu need nvcc; SM=sm_90)

$(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(UNIT_SHIM)): $(BUILD)/unit/%: $(BUILD)/tests/unit/%.o $(SHIM_UNIT_OBJ)
	$(call link,$^ -lcmocka -lm $(SHIM_LIBS))
$(BUILD)/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/libkbn_analyzer.a
	$(call link,$^ -lcmocka $(ANALYZER_LIBS))

# drives the built program
$(BUILD)/unit/test_run: | $(KBN) $(LIBKBN) $(FAKE) $(DEMO) $(BUILD)/fake/app_process

$(patsubst tests/fuzz/fuzz_%.c,$(BUILD)/fuzz/replay_%,$(FUZZ_SHIM)): $(BUILD)/fuzz/replay_%: \
		$(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/fuzz_replay.o $(SHIM_UNIT_OBJ)
	$(call link,$^ $(SHIM_LIBS))
$(BUILD)/fuzz/replay_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/fuzz_replay.o $(BUILD)/libkbn_analyzer.a
	$(call link,$^ $(ANALYZER_LIBS))
$(patsubst tests/fuzz/fuzz_%.c,$(BUILD)/fuzz/fuzz_%,$(FUZZ_SHIM)): $(BUILD)/fuzz/fuzz_%: \
		$(BUILD)/tests/fuzz/fuzz_%.o $(SHIM_UNIT_OBJ)
	$(call link,-fsanitize=fuzzer $^ $(SHIM_LIBS))
$(BUILD)/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/libkbn_analyzer.a
	$(call link,-fsanitize=fuzzer $^ $(ANALYZER_LIBS))

-include tests/fake/flags.mk tests/unit/flags.mk samples/flags.mk

# ---------------------------------------------------------------------------------------- checks

.PHONY: demo test tests unit golden golden-update integration replay fuzz fuzzers gpu bench check format cover

demo:                                           ## record a sample and show its report (GPU, or the stand-in driver)
	@scripts/setup build
	@+$(MAKE) --no-print-directory shim analyzer $(FAKE) $(DEMO)
	@KBN_BUILD=$(BUILD) scripts/demo
test:                                           ## every test that needs no GPU; installs what is missing
	@scripts/setup build test
	@+$(MAKE) --no-print-directory tests
	@KBN_BUILD=$(BUILD) scripts/run-tests unit golden replay integration

tests: all golden-tools $(UNITS) $(if $(wildcard tests/fuzz/fuzz_replay.c),$(REPLAYS)) ## build everything that `test` runs
unit: $(UNITS)                                  ## unit tests
	@KBN_BUILD=$(BUILD) scripts/run-tests unit
golden: all golden-tools                        ## command line against expected output
	@KBN_BUILD=$(BUILD) scripts/run-tests golden
golden-update: all golden-tools                 ## rewrite the expected output; review the diff
	@KBN_BUILD=$(BUILD) tests/golden/run --update
integration: all                                ## bare run = recorded run, on the stand-in driver
	@KBN_BUILD=$(BUILD) scripts/run-tests integration
replay: $(REPLAYS)                              ## every stored fuzz input once
	@KBN_BUILD=$(BUILD) scripts/run-tests replay
fuzzers: $(FUZZERS)
fuzz:                                           ## libFuzzer (clang): FUZZ_SECONDS=60 for all together
	@+$(MAKE) --no-print-directory fuzzers CC=clang BUILD=$(BUILD)-fuzz SAN=fuzzer-no-link,address,undefined
	@KBN_BUILD=$(BUILD)-fuzz scripts/run-tests fuzz
gpu: all $(if $(NVCC),$(SAMPLES))               ## the checks on real hardware
	@KBN_BUILD=$(BUILD) scripts/gpu-check
bench: all                                      ## cost of an untimed launch, start-up, report
	@KBN_BUILD=$(BUILD) scripts/bench
check: all                                      ## format, includes, exports, settings table in README
	@KBN_BUILD=$(BUILD) scripts/check
format:                                         ## lay out every C file (clang-format 14)
	@scripts/check-format --fix
cover:                                          ## line coverage of unit and integration tests
	@+$(MAKE) --no-print-directory tests COVER=1
	@KBN_BUILD=$(BUILD)-cover scripts/cover

# ---------------------------------------------------------------------------------------- install

# kbn looks for libkbn.so beside itself, then in ../lib; libkbn.so looks for kbn beside itself,
# then in ../bin, then in PATH. Both the build folder and an installed prefix fit.
.PHONY: install uninstall clean help
install: all                                    ## bin/kbn and lib/libkbn.so under PREFIX (/usr/local)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib
	install -m 755 $(BUILD)/kbn $(DESTDIR)$(PREFIX)/bin/kbn
	install -m 755 $(LIBKBN) $(STACK) $(DESTDIR)$(PREFIX)/lib/
uninstall:                                      ## remove what install put there
	rm -f $(DESTDIR)$(PREFIX)/bin/kbn $(DESTDIR)$(PREFIX)/lib/libkbn.so $(DESTDIR)$(PREFIX)/lib/libkbn-stack.so
clean:                                          ## remove the build folder
	rm -rf -- $(BUILD)
help:                                           ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{ printf "%-18s%s\n", $$1, $$2 }'
	@printf '\n  V=1  BUILD=dir  CC=clang  SAN=address,undefined  SAN=thread  COVER=1  CROSS=aarch64-linux-gnu (shim, fake)\n'

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
