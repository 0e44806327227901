// netlink(7), epoll(7), timerfd(2), inotify(7) and setns(2): what Swift's Glibc module leaves out. Kernel and C library headers only.
// <sys/socket.h> stays out: Swift would take its constants away from Glibc. _GNU_SOURCE is not defined here: it would give Swift a second, different `fd_set`.
#ifndef REACHABILITY_CNETLINK_SHIM_H
#define REACHABILITY_CNETLINK_SHIM_H

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

extern int setns(int descriptor, int kind);
extern int unshare(int flags);

static inline int cnl_setns_network(int descriptor) { return setns(descriptor, 0x40000000); }
static inline int cnl_unshare_network(void) { return unshare(0x40000000); }

static const int CNL_EPOLL_CLOEXEC = EPOLL_CLOEXEC;
static const int CNL_EVENTFD_FLAGS = EFD_CLOEXEC | EFD_NONBLOCK;
static const int CNL_INOTIFY_FLAGS = IN_CLOEXEC | IN_NONBLOCK;
static const int CNL_TIMERFD_FLAGS = TFD_CLOEXEC | TFD_NONBLOCK;
static const int CNL_TIMER_CANCEL_ON_SET = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET;
static const uint32_t CNL_EPOLL_IN = EPOLLIN;
static const uint32_t CNL_WATCH_DIRECTORY = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_ONLYDIR;
static const int CNL_RCVBUFFORCE = 33;
static const int CNL_ATTACH_FILTER = 26;
static const int CNL_DETACH_FILTER = 27;

#endif
