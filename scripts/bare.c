/*
 * The bare loop that udsbench is measured against: a ping-pong of 64 bytes
 * over a socketpair, both ends on one CPU, as two processes or as two threads
 * of one. It does what any worker must do and no more: write, read, count,
 * look at the gate.
 *
 *	bare process|thread CPU
 *
 * Descriptor 3 is a shared mapping of one page: a gate word at 0 (1 run, 2
 * wait, 3 end), which is a futex, and the count of round trips at 128.
 * Descriptor 4 is a pipe: when its other end is closed, all is over.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <signal.h>
#include <unistd.h>

enum { BYTES = 64, RUN = 1, WAIT = 2, END = 3 };

static int pair[2];
static _Atomic uint32_t *gate;
static _Atomic uint64_t *count;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void *server(void *unused)
{
	char buf[BYTES];

	for (;;) {
		ssize_t n = read(pair[1], buf, BYTES);
		if (n == 0)
			return unused;
		if (n != BYTES || write(pair[1], buf, BYTES) != BYTES)
			die("server");
	}
}

static void client(void)
{
	char buf[BYTES];
	uint64_t n = 0;

	memset(buf, 0, sizeof buf);
	for (;;) {
		uint32_t g;
		while ((g = *gate) != RUN) {
			if (g == END)
				return;
			syscall(SYS_futex, gate, FUTEX_WAIT, g, NULL, NULL, 0);
		}
		if (write(pair[0], buf, BYTES) != BYTES || read(pair[0], buf, BYTES) != BYTES)
			die("client");
		*count = ++n;
	}
}

static void *watch(void *unused)
{
	char c;

	if (read(4, &c, 1) <= 0)
		_exit(0);
	return unused;
}

int main(int argc, char **argv)
{
	cpu_set_t set;
	pthread_t t;
	char *mem;

	if (argc != 3)
		return 2;
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[2]), &set);
	if (sched_setaffinity(0, sizeof set, &set))
		die("sched_setaffinity");
	mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
	if (mem == MAP_FAILED)
		die("mmap");
	gate = (_Atomic uint32_t *)mem;
	count = (_Atomic uint64_t *)(mem + 128);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die("socketpair");
	if (!strcmp(argv[1], "process")) {
		pid_t pid = fork();
		if (pid < 0)
			die("fork");
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(pair[0]);
			server(NULL);
			return 0;
		}
		close(pair[1]);
	} else if (pthread_create(&t, NULL, server, NULL)) {
		die("pthread_create");
	}
	if (pthread_create(&t, NULL, watch, NULL))
		die("pthread_create");
	client();
	shutdown(pair[0], SHUT_WR);
	return 0;
}
