/* Things that announce themselves: a linker section of pointers for each kind. */
#ifndef REGISTRY_H
#define REGISTRY_H

/*
 * REGISTER(disk_drivers, struct disk_driver, &null_driver) in one file makes
 * for_each_registered(disk_drivers, d) find it; no list is kept anywhere. A
 * section of pointers, not of structs: gcc pads structs to 32 bytes and would
 * leave holes. A kind with no member yet is still iterable (weak bounds).
 */
#define REGISTER_(kind, type, ptr, line)                                            \
	static const type *const registered_##kind##_##line                         \
	    __attribute__((used, section("reg_" #kind))) = (ptr)
#define REGISTER__(kind, type, ptr, line) REGISTER_(kind, type, ptr, line)
#define REGISTER(kind, type, ptr) REGISTER__(kind, type, ptr, __LINE__)

#define REGISTRY(kind, type)                                                        \
	extern const type *const __start_reg_##kind[] __attribute__((weak));        \
	extern const type *const __stop_reg_##kind[] __attribute__((weak))

#define for_each_registered(kind, p)                                                \
	for (__typeof__(&__start_reg_##kind[0]) p##_at = __start_reg_##kind;        \
	     p##_at < __stop_reg_##kind && ((p) = *p##_at, 1); p##_at++)

#endif
