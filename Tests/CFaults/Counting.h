#pragma once

/// Counts a call, whoever makes it. Returns whether it is the one to fail.
int faults_counts(const char *name);
