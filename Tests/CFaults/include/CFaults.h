// Makes calls fail on purpose. The functions of libcurl and libc that the library calls are defined once more in this target; the linker
// prefers them, so the library itself holds nothing for it. Each passes on to the real one unless it is its turn to fail. SQLite's calls of the
// system are reached the way SQLite has for it: a VFS of its own, in front of the one it brings.
#pragma once

/// Counts from zero, and lets call number `number` (from 1) fail; 0 fails none.
void faults_arm(long number);
/// The same, and the first call of this function fails. The name must live on.
void faults_arm_first(const char *name);
/// The same for libcurl's allocations alone; see `faults_own_memory`.
void faults_arm_memory(long number);
/// Stops counting. Returns the number of calls since `faults_arm`.
long faults_disarm(void);
/// The name of the function that failed; NULL when none did.
const char *faults_failed(void);
/// Calls of this thread are neither counted nor failed.
void faults_exempt_thread(void);

/// Called before libcurl is first used: its memory comes from functions that can fail.
void faults_own_memory(void);
/// Where libcurl itself ends the process by a signal, or frees memory a second time, this file is written, with the number of the call that failed and that of the signal, and
/// the process exits with success. Other crashes remain what they are.
void faults_report_crashes_of_libcurl(const char *path);

/// What SQLite asks of the system counts from now on, for databases that are opened later. Returns 0, or what SQLite answers.
int faults_own_disk(void);
/// With 1 the first failing call of SQLite breaks the disk: every later one fails as well, until `faults_repair_disk`.
void faults_disk_stays_broken(int stays);
void faults_repair_disk(void);
