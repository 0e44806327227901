// The wall clock of this process, moved without moving the machine's, and fork(2), which Swift hides.
#pragma once

#include <stdint.h>
#include <sys/types.h>

/// Moves the wall clock that this process reads by so many seconds, in either direction. Absolute waits on that clock end as if the clock of
/// the machine had been set: the functions are defined once more in this target, and the linker prefers them.
void hostile_step_wall_clock(int64_t seconds);

/// The seconds by which the wall clock is moved.
int64_t hostile_wall_clock_offset(void);

/// The number of times the wall clock was read through this target.
int64_t hostile_wall_clock_readings(void);

pid_t hostile_fork(void);

/// A mount namespace of the process's own. To be called while the process has one thread. Returns 0, or -1 with errno.
int hostile_unshare_mounts(void);

/// Gives up what a process may do as root, for good; /proc/self stays readable. Returns 0, or -1 with errno.
int hostile_become(uid_t user);

/// Closes what the program that started this one has left open to it.
void hostile_close_inherited(void);
