// Makes calls fail on purpose. The functions of libcurl and libc that the library calls are defined once more in this target; the linker
// prefers them, so the library itself holds nothing for it. Each passes on to the real one unless it is its turn to fail.
#pragma once

/// Counts from zero, and lets call number `number` (from 1) fail; 0 fails none.
void faults_arm(long number);
/// Stops counting. Returns the number of calls since `faults_arm`.
long faults_disarm(void);
/// The name of the function that failed; NULL when none did.
const char *faults_failed(void);
/// Calls of this thread are neither counted nor failed.
void faults_exempt_thread(void);
