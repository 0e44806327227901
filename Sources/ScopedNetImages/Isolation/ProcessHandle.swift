#if Images
import Glibc
import SystemSupport

/// A child process, by a descriptor of it (pidfd_open(2)) where the kernel has that, since Linux 5.3.
///
/// A number alone may be that of another process: a program that waits for any child, or ignores SIGCHLD, reaps the child before this
/// code does, and its number is free from then on. The descriptor stays that of the child, and signals to it fail. Only a child that has
/// ended, was reaped, and whose number went round, before it is opened here could be mistaken; numbers go round in some 32,000 processes.
struct ProcessHandle: ~Copyable {
    let pid: pid_t
    /// Negative where there is none.
    private let descriptor: Int32

    init(_ pid: pid_t) {
        self.pid = pid
        descriptor = LinuxCalls.openProcess(pid)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Sends SIGKILL, to no other process.
    func kill() {
        if descriptor >= 0 {
            // ESRCH: it was reaped. Other errors are those of a filter of system calls around this program, which may not know this one.
            if LinuxCalls.kill(descriptor) || errno == ESRCH { return }
        }
        _ = Glibc.kill(pid, SIGKILL)
    }

    /// Waits for its end, and reaps it.
    ///
    /// - Returns: nil where another part of the program has done so.
    func reap() -> HelperProcess.Ending? {
        var information = siginfo_t()
        // P_PIDFD of <linux/wait.h>. Linux 5.3 has descriptors of processes, and does not know it.
        let byDescriptor = idtype_t(3)
        var (kind, number) = descriptor < 0 ? (P_PID, id_t(bitPattern: pid)) : (byDescriptor, id_t(bitPattern: descriptor))
        while waitid(kind, number, &information, WEXITED) != 0 {
            if errno == EINVAL, kind == byDescriptor {
                (kind, number) = (P_PID, id_t(bitPattern: pid))
            } else if errno != EINTR {
                return nil
            }
        }
        let status = information._sifields._sigchld.si_status
        return information.si_code == Int32(CLD_EXITED) ? .status(status) : .signal(status)
    }
}
#endif
