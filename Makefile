# Sluice. `make help` lists what there is; docs/TESTING.md says what each check does.

V ?= 0
VARIANT ?=
CC ?= cc
B := build$(if $(VARIANT),/$(VARIANT))
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' $(1) $(2);)

PKGS := libevent libcrypto yaml-0.1 jansson liburing libisal libsystemd libibverbs librdmacm
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS))
PKG_LIBS = $(shell pkg-config --libs $(PKGS))

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wvla -Wwrite-strings -Wundef -Wno-unused-parameter $(if $(WERROR),-Werror)
OPT_ := -O2
OPT_asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
OPT_tsan := -O1 -fsanitize=thread -fno-omit-frame-pointer
OPT_clang := -O2
OPT_fuzz := -O1 -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined
ifeq ($(VARIANT),fuzz)
CC := clang
endif
CFLAGS ?= $(OPT_$(VARIANT)) -g
VERSION := 0.1.0
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -pthread -fno-strict-aliasing -MMD -MP -Iinclude \
	-DSLUICE_VERSION='"$(VERSION)"' $(WARN) $(PKG_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pthread $(filter -fsanitize=%,$(CFLAGS)) $(LDFLAGS)

SRC := $(sort $(wildcard daemon/*.c transport/*.c transport/*/*.c hba/*/*.c))
CTL_SRC := $(sort $(wildcard daemon/ctl/*.c))
OBJ := $(SRC:%.c=$(B)/%.o)
LIB_OBJ := $(filter-out $(B)/daemon/main.o,$(OBJ))
CTL_OBJ := $(CTL_SRC:%.c=$(B)/%.o)
FAKE_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/fake/*.c)))
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(sort $(wildcard tests/unit/test_*.c)))
FUZZ := $(patsubst tests/fuzz/%.c,build/fuzz/tests/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
BENCH := $(B)/tests/bench/load $(B)/tests/bench/echo $(B)/tests/bench/sluiced-no-bridge $(B)/tests/bench/queues/cell

.PHONY: fuzzers all map run check check-quick check-asan check-tsan fuzz bench bench-queues guest guest-bench model model-long stress stress-tools mutants deps install clean help \
	units tools
all: $(B)/sluiced $(B)/sluicectl

help:
	@sed -n 's/^#: //p' Makefile

#: make                builds build/sluiced and build/sluicectl
#: make run            a RAM disk and a file disk on 127.0.0.1:3260, in the foreground
#: make check          every test this machine can run
#: make check-quick    unit, talk, system and meta tests: under a minute
#: make check-asan     the same as check-quick, under ASan and UBSan
#: make check-tsan     the same, under TSan
#: make fuzz           each fuzz target, 30 s
#: make bench          speed, beside tgt
#: make bench-queues   what admission to an adapter's queue costs and whom it serves: tables and plots
#: make guest          the tests that boot a kernel of their own
#: make stress         the bridge under load, and each known mistake in it
#: make model          the bridge's models, by Spin; model-long: the large ones too
#: make guest-bench    IOPS by queue mode through the kernel's initiator, in that guest
#: make deps           installs the Debian packages that are missing
#: make map            docs/MAP.md from the first sentence of each file
#: make install        into $(DESTDIR)$(PREFIX)

$(B)/sluiced: $(OBJ)
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(B)/sluicectl: $(CTL_OBJ)
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(shell pkg-config --libs jansson)

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Tests may include anything.
$(B)/tests/%.o: ALL_CFLAGS += -I.

$(B)/tests/unit/%: $(B)/tests/unit/%.o $(FAKE_OBJ) $(LIB_OBJ)
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS) -lcmocka

LOAD_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/bench/load_*.c))) $(B)/transport/iscsi/digest.o
$(B)/tests/bench/load: $(LOAD_OBJ)
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(B)/tests/bench/echo: $(B)/tests/bench/echo.o
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^

# The same objects; calls of these names from other folders go to no_bridge.c.
NO_BRIDGE := bridge_submit bridge_try bridge_urgent bridge_cancel disk_io_done
$(B)/tests/bench/sluiced-no-bridge: $(B)/tests/bench/no_bridge.o $(OBJ)
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) $(NO_BRIDGE:%=-Wl,--wrap=%) -o $@ $^ $(PKG_LIBS)

QUEUES_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/bench/queues/*.c)))
$(B)/tests/bench/queues/cell: $(QUEUES_OBJ) $(LIB_OBJ)
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS) -lm

-include $(LOAD_OBJ:.o=.d) $(QUEUES_OBJ:.o=.d) $(B)/tests/bench/echo.d $(B)/tests/bench/no_bridge.d

build/fuzz/tests/fuzz/%: build/fuzz/tests/fuzz/%.o $(FAKE_OBJ:$(B)/%=build/fuzz/%) $(LIB_OBJ:$(B)/%=build/fuzz/%)
	$(call say,LD,$@)clang -pthread -fsanitize=address,undefined,fuzzer -o $@ $^ $(PKG_LIBS)

# An SRP initiator for the guest.
RAW_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/guest/srp_raw*.c)))
$(B)/tests/guest/srp_raw: $(RAW_OBJ)
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

-include $(RAW_OBJ:.o=.d)

# The bridge with its marked places open, and with each mistake of hba/bridge/bug.h in turn.
STRESS_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/stress/*.c)))
STRESS_REST := $(filter-out $(B)/hba/bridge/%,$(LIB_OBJ)) $(STRESS_OBJ)
BRIDGE_SRC := $(wildcard hba/bridge/*.c)
MUTANTS := 1 2 3 4 5 6 7 8 10
MUTABLE := $(shell grep -lE 'BUG.[0-9]|node_claim' hba/bridge/*.c)
$(STRESS_OBJ): ALL_CFLAGS += -DBQ_YIELD

# $(call stress,PROGRAM,FOLDER OF OBJECTS,FLAGS,SOURCES MADE WITH THEM,THE OTHERS' OBJECTS)
define stress
$(2)/%.o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)$$(CC) $$(ALL_CFLAGS) -DBQ_YIELD $(3) -c -o $$@ $$<
$(1): $(4:%.c=$(2)/%.o) $(5) $$(STRESS_REST)
	$$(call say,LD,$$@)$$(CC) $$(ALL_LDFLAGS) -o $$@ $$^ $$(PKG_LIBS)
-include $(4:%.c=$(2)/%.d)
endef
STRESS := $(B)/tests/stress/bridge_stress
$(eval $(call stress,$(STRESS),$(B)/stress,,$(BRIDGE_SRC),))
$(foreach n,$(MUTANTS),$(eval $(call stress,$(B)/mutant/$(n)/bridge_stress,$(B)/mutant/$(n),-DBQ_BUG=$(n),$(MUTABLE),\
	$(patsubst %.c,$(B)/stress/%.o,$(filter-out $(MUTABLE),$(BRIDGE_SRC))))))
-include $(STRESS_OBJ:.o=.d)

stress-tools: $(STRESS)
mutants: $(MUTANTS:%=$(B)/mutant/%/bridge_stress)
units: $(UNIT)
fuzzers: $(FUZZ)
tools: $(BENCH) $(B)/tests/guest/srp_raw

deps:
	@tests/deps

run:
	@tests/deps build
	@$(MAKE) --no-print-directory all
	$(Q)tests/demo

check: deps
	@$(MAKE) --no-print-directory all units tools stress-tools mutants
	$(Q)tests/run --build $(B) unit talk system meta guest model stress mutants

check-quick: all units tools
	$(Q)tests/run --build $(B) unit talk system meta

check-asan check-tsan: check-%:
	@$(MAKE) --no-print-directory VARIANT=$* all units tools stress-tools
	$(Q)tests/run --build build/$* unit talk system stress

guest: all units tools
	$(Q)tests/run --build $(B) guest

stress: stress-tools mutants
	$(Q)tests/run --build $(B) stress mutants

# The models need no build.
model model-long:
	@tests/deps model
	$(Q)tests/run model
	$(Q)$(if $(filter model-long,$@),SLUICE_LONG=1 tests/run model)

guest-bench:
	@tests/deps build guest
	@$(MAKE) --no-print-directory all
	$(Q)SLUICE_BUILD=$(B) tests/guest/guest -t 880 -T 860 tests/guest/bench/queues.sh

fuzz:
	@tests/deps build fuzz
	@$(MAKE) --no-print-directory VARIANT=fuzz fuzzers
	$(Q)tests/fuzz/run $(FUZZ)

bench:
	@tests/deps build bench
	@$(MAKE) --no-print-directory all tools
	$(Q)tests/bench/run --build $(B)

bench-queues:
	@tests/deps build
	@$(MAKE) --no-print-directory $(B)/tests/bench/queues/cell
	$(Q)tests/bench/queues/run --build $(B)

map:
	tests/meta/map > docs/MAP.md

PREFIX ?= /usr
install: all
	install -D -m 755 $(B)/sluiced $(DESTDIR)$(PREFIX)/sbin/sluiced
	install -D -m 755 $(B)/sluicectl $(DESTDIR)$(PREFIX)/bin/sluicectl
	install -D -m 644 etc/sluiced.service $(DESTDIR)$(PREFIX)/lib/systemd/system/sluiced.service
	install -D -m 644 etc/sluice.yaml $(DESTDIR)/etc/sluice/sluice.yaml
	install -d -m 755 $(DESTDIR)/etc/sluice/conf.d

clean:
	rm -rf build

.SECONDARY:
-include $(OBJ:.o=.d) $(CTL_OBJ:.o=.d) $(FAKE_OBJ:.o=.d) $(UNIT:=.d)
