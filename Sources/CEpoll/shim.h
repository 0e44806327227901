// epoll(7) and eventfd(2): parts of glibc that Swift's Glibc module leaves out.
#ifndef SCOPEDNET_CEPOLL_SHIM_H
#define SCOPEDNET_CEPOLL_SHIM_H

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static const int SEPOLL_CLOEXEC = EPOLL_CLOEXEC;
static const int SEVENTFD_FLAGS = EFD_CLOEXEC | EFD_NONBLOCK;
static const uint32_t SEPOLL_IN = EPOLLIN;
static const uint32_t SEPOLL_OUT = EPOLLOUT;
static const uint32_t SEPOLL_ERR = EPOLLERR;
static const uint32_t SEPOLL_HUP = EPOLLHUP;

#endif
