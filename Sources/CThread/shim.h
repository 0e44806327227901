// Thread names, which Swift's Glibc module leaves out. No header is included: a type such as `timespec` would then have this module for its home as well,
// and every file that uses it would have to import it. `pthread_t` is an unsigned long in glibc.
#ifndef SYSTEMSUPPORT_CTHREAD_SHIM_H
#define SYSTEMSUPPORT_CTHREAD_SHIM_H

extern int pthread_setname_np(unsigned long thread, const char *_Nonnull name);

#endif
