// SPDX-License-Identifier: BSD-2-Clause
//
// Where the workers of a run waited: on kernel locks (lock:contention_begin and
// _end), on futexes, and for whatever put them to sleep (sched_switch,
// sched_waking, sched_wakeup). Everything is summed here, in the kernel; the
// loader reads the sums once the window has closed.
//
// Built with CO-RE: fields are found by name in the running kernel's BTF, so
// one object serves amd64 and arm64.

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

// The GPL-only helpers (stacks, ktime) need a GPL-compatible licence here.
char licence[] SEC("license") = "Dual BSD/GPL";

typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;

#define EEXIST 17
#define PF_KTHREAD 0x00200000 // include/linux/sched.h

// include/trace/events/lock.h
#define LCB_F_SPIN 1
#define LCB_F_MUTEX 32
#define FUTEX 0x10000 // ours: no kernel lock, but a wait in futex(2)

// States of prev_state, include/linux/sched.h.
#define TASK_UNINTERRUPTIBLE 2
#define TASK_ON_RQ_MIGRATING 2 // of on_rq, kernel/sched/sched.h
#define TASK_GONE (0x10 | 0x20 | 0x80) // EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD

struct rq {
	u64 clock, clock_task;
} __attribute__((preserve_access_index));

struct cfs_rq {
	struct rq *rq; // only with CONFIG_FAIR_GROUP_SCHED
} __attribute__((preserve_access_index));

struct sched_entity {
	u64 exec_start, sum_exec_runtime;
	struct cfs_rq *cfs_rq;
} __attribute__((preserve_access_index));

struct task_struct {
	int pid;
	int tgid;
	unsigned int flags;
	unsigned int __state;
	int on_rq;
	struct sched_entity se;
} __attribute__((preserve_access_index));

struct pt_regs___amd64 {
	unsigned long orig_ax, di, si;
} __attribute__((preserve_access_index));

struct pt_regs___arm64 {
	u64 regs[31];
	u64 orig_x0;
	s32 syscallno;
} __attribute__((preserve_access_index));

// Set by the loader before loading; the verifier prunes what is off.
const volatile u32 cfg_lock_stacks;  // stacks of lock waits
const volatile u32 cfg_sched_stacks; // stacks of sleeps
const volatile u32 cfg_futex = ~0;   // number of the futex system call

// The window, in CLOCK_MONOTONIC nanoseconds; 0 is not yet. Written by the
// loader while the programs run. What lies across an edge is cut at the edge.
volatile u64 opened;
volatile u64 closed;

// Who waits. RUNTIME is a thread of a worker's process that is no worker: the
// Go runtime's.
enum { NOBODY, WORKER, KTHREAD, RUNTIME };

// The workers' processes, and which of their threads are workers: those in
// tids; any, by turns (goroutines); or all, as nobody told.
enum { LISTED = 1, GOROUTINES, ALL };
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32);
	__type(value, u32);
	__uint(max_entries, 4096);
} tgids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32);
	__type(value, u32);
	__uint(max_entries, 4096);
} tids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(key_size, 4);
	__uint(value_size, 32 * 8);
	__uint(max_entries, 16384);
} stacks SEC(".maps");

// Numbers of buckets are powers of two, and an index is masked where the
// compiler cannot see it: verifiers of all ages take that as a bound.
#define MASK(i, n)                   \
	do {                         \
		if (i >= n)          \
			i = n - 1;   \
		asm volatile("" : "+r"(i)); \
		i &= n - 1;          \
	} while (0)

#define WAIT_BUCKETS 32

// Sums of one kind of wait. Bucket i of hist counts waits whose nanoseconds
// have i significant bits; the last takes all longer ones as well.
struct sums {
	u64 count, total, min, max;
	u32 hist[WAIT_BUCKETS];
};

// Counters of the instrument itself.
struct counters {
	u64 begins;        // contention_begin in workers, inside the window
	u64 begins_kthread;
	u64 orphan_ends;   // end without a begin: it began before the trace did
	u64 lost_begins;   // no room to remember a begin
	u64 lost_sums;     // no room for another site
	u64 lost_addrs;    // no room for another address
	u64 lost_stacks;   // two stacks in one slot of the kernel's table
	u64 given_up;      // the wait ended without the lock
	u64 unfinished;    // it began before the close and ended after it
	u64 unfinished_futexes; // of workers, likewise
	u64 lost_threads;  // no room for another thread
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct counters);
} counts SEC(".maps");

static __always_inline struct counters *counters(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&counts, &zero);
}

#define COUNT(field)                             \
	do {                                     \
		struct counters *c_ = counters(); \
		if (c_)                          \
			c_->field++;             \
	} while (0)

// inside gives the part of [from, to] that lies in the window.
static __always_inline u64 inside(u64 from, u64 to)
{
	u64 lo = opened, hi = closed;

	if (!lo)
		return 0;
	if (from > lo)
		lo = from;
	if (!hi || to < hi)
		hi = to;
	return hi > lo ? hi - lo : 0;
}

static __always_inline int open_at(u64 t)
{
	return opened && t >= opened && (!closed || t < closed);
}

static __always_inline u32 who(struct task_struct *t)
{
	u32 tgid = t->tgid, tid = t->pid, *which = bpf_map_lookup_elem(&tgids, &tgid);

	if (!which)
		return t->flags & PF_KTHREAD ? KTHREAD : NOBODY;
	if (*which != LISTED || bpf_map_lookup_elem(&tids, &tid))
		return WORKER;
	return RUNTIME;
}

// system_call gives the number of the system call that t is in; negative or a
// trap number where it came into the kernel otherwise. arg takes its first two
// arguments.
static __always_inline s32 system_call(struct task_struct *t, u64 arg[2])
{
	void *regs = (void *)bpf_task_pt_regs(t);
	struct pt_regs___amd64 *x = regs;
	struct pt_regs___arm64 *a = regs;

	if (bpf_core_field_exists(x->orig_ax)) {
		arg[0] = x->di;
		arg[1] = x->si;
		return x->orig_ax;
	}
	if (bpf_core_field_exists(a->syscallno)) {
		arg[0] = a->orig_x0;
		arg[1] = a->regs[1];
		return a->syscallno;
	}
	return -1;
}

static __always_inline u32 bits(u64 v)
{
	u32 n = 0;

	if (v >> 32) { v >>= 32; n += 32; }
	if (v >> 16) { v >>= 16; n += 16; }
	if (v >> 8) { v >>= 8; n += 8; }
	if (v >> 4) { v >>= 4; n += 4; }
	if (v >> 2) { v >>= 2; n += 2; }
	if (v >> 1) { v >>= 1; n += 1; }
	return n + v;
}

static __always_inline void add(struct sums *s, u64 d)
{
	u64 b = bits(d);

	// A value that another CPU made starts as zeroes here.
	if (!s->count || d < s->min)
		s->min = d;
	if (d > s->max)
		s->max = d;
	s->count++;
	s->total += d;
	MASK(b, WAIT_BUCKETS);
	s->hist[b]++;
}

// stack_of gives the number of the stack. Where another has taken its slot it is
// taken without its innermost frames, which are this program's and its callers':
// that is another slot.
static __always_inline s32 stack_of(void *ctx)
{
	s32 id = bpf_get_stackid(ctx, &stacks, 0);

	if (id == -EEXIST)
		id = bpf_get_stackid(ctx, &stacks, 1);
	if (id == -EEXIST)
		id = bpf_get_stackid(ctx, &stacks, 2);
	if (id < 0)
		COUNT(lost_stacks);
	return id;
}

// ---- locks

struct wait {
	u64 since, lock;
	u32 flags, who;
	s32 stack, call;
	u32 tid, pad;
};

struct wait_key {
	u32 flags, who;
	s32 stack, call; // stack is negative where there is none
};

struct addr_key {
	u64 lock;
	struct wait_key wait;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__type(key, struct wait_key);
	__type(value, struct sums);
	__uint(max_entries, 8192);
} waits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct addr_key);
	__type(value, u32);
	__uint(max_entries, 65536);
} addrs SEC(".maps");

// Spinning waiters, by CPU: a task, and interrupts of three kinds above it.
#define DEPTH 4
struct spinning {
	u32 n;
	struct wait at[DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct spinning);
} spinners SEC(".maps");

// Sleeping waiters, by thread. Entries are kept with lock 0, not deleted.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32);
	__type(value, struct wait);
	__uint(max_entries, 8192);
} sleepers SEC(".maps");

// Threads blocked in futex(2).
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32);
	__type(value, struct wait);
	__uint(max_entries, 8192);
} futexes SEC(".maps");

static __always_inline void account(struct wait *w, u64 now)
{
	struct addr_key a = {};
	struct sums *s;
	u32 one = 1;

	if (!open_at(now)) {
		if (closed && w->since < closed && now >= closed) {
			if (w->flags != FUTEX)
				COUNT(unfinished);
			else if (w->who == WORKER)
				COUNT(unfinished_futexes);
		}
		return;
	}
	a.lock = w->lock;
	a.wait.flags = w->flags;
	a.wait.who = w->who;
	a.wait.stack = w->stack;
	a.wait.call = w->call;
	s = bpf_map_lookup_elem(&waits, &a.wait);
	if (!s) {
		struct sums none = {};
		bpf_map_update_elem(&waits, &a.wait, &none, BPF_NOEXIST);
		s = bpf_map_lookup_elem(&waits, &a.wait);
		if (!s) {
			COUNT(lost_sums);
			return;
		}
	}
	add(s, inside(w->since, now));
	if (!bpf_map_lookup_elem(&addrs, &a) && bpf_map_update_elem(&addrs, &a, &one, BPF_ANY))
		COUNT(lost_addrs);
}

static __always_inline void describe(void *ctx, struct task_struct *t, struct wait *w)
{
	u64 arg[2];

	w->stack = -1;
	w->call = -1;
	if (cfg_lock_stacks)
		w->stack = stack_of(ctx);
	else if (w->who != KTHREAD)
		w->call = system_call(t, arg);
	// Last: taking the stack takes longer than many waits.
	w->since = bpf_ktime_get_ns();
}

SEC("tp_btf/contention_begin")
int contention_begin(u64 *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	u64 lock = ctx[0];
	u32 flags = ctx[1], tid = t->pid, zero = 0, w = who(t);

	if (!w)
		return 0;
	if (open_at(bpf_ktime_get_ns())) {
		if (w == KTHREAD)
			COUNT(begins_kthread);
		else
			COUNT(begins);
	}
	if (flags & LCB_F_SPIN && !(flags & LCB_F_MUTEX)) {
		struct spinning *s = bpf_map_lookup_elem(&spinners, &zero);
		u32 n;

		if (!s)
			return 0;
		n = s->n;
		if (n >= DEPTH) {
			// Ends that never came have filled it.
			n = 0;
			COUNT(lost_begins);
		}
#pragma clang loop unroll(full)
		for (int i = 0; i < DEPTH; i++) {
			if (i == n) {
				s->at[i].lock = lock;
				s->at[i].flags = flags;
				s->at[i].who = w;
				s->at[i].tid = tid;
				s->n = i + 1;
				describe(ctx, t, &s->at[i]);
				return 0;
			}
		}
		return 0;
	}
	struct wait *old = bpf_map_lookup_elem(&sleepers, &tid);
	if (old && old->lock == lock) {
		// A mutex begins again at each turn between spinning and
		// sleeping: one wait, spun only if it never slept.
		old->flags &= flags | ~LCB_F_SPIN;
		return 0;
	}
	struct wait fresh = {.lock = lock, .flags = flags, .who = w};
	describe(ctx, t, &fresh);
	if (old) {
		// One wait inside another, or one whose end was lost: a thread
		// has room for one.
		if (old->lock && open_at(fresh.since))
			COUNT(lost_begins);
		*old = fresh;
	} else if (bpf_map_update_elem(&sleepers, &tid, &fresh, BPF_ANY))
		COUNT(lost_begins);
	return 0;
}

SEC("tp_btf/contention_end")
int contention_end(u64 *ctx)
{
	u64 now = bpf_ktime_get_ns(), lock = ctx[0];
	s32 ret = ctx[1];
	struct task_struct *t = bpf_get_current_task_btf();
	u32 tid = t->pid, zero = 0, w = who(t);
	struct spinning *s;

	if (!w)
		return 0;
	if (ret && open_at(now))
		COUNT(given_up);
	s = bpf_map_lookup_elem(&spinners, &zero);
	if (s) {
#pragma clang loop unroll(full)
		for (int i = DEPTH - 1; i >= 0; i--) {
			if (i < s->n && s->at[i].lock == lock && s->at[i].tid == tid) {
				// What lies above lost its end.
				s->n = i;
				account(&s->at[i], now);
				return 0;
			}
		}
	}
	struct wait *old = bpf_map_lookup_elem(&sleepers, &tid);
	if (old && old->lock == lock) {
		account(old, now);
		old->lock = 0;
		return 0;
	}
	if (open_at(now))
		COUNT(orphan_ends);
	return 0;
}

// ---- futexes: the waits of user space's own locks. A wait is the time off
// the CPU, sleeping and then runnable, of a thread that futex(2) put to sleep.
// An idle thread of the Go runtime sleeps there too (RUNTIME), as goroutines'
// threads do between goroutines. A worker that has nothing to do until a time
// (--rate) waits there as well, by a call of its own (pingpong/memory_linux.go):
// that is no lock, and is left out.
#define FUTEX_WAIT_BITSET 9 // of a shared word, include/uapi/linux/futex.h

SEC("tp_btf/sched_switch")
int futex_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u32 tid = prev->pid, tgid = prev->tgid, preempt = (_Bool)ctx[0], state = ctx[3], *which;
	struct wait *w;
	u64 now = 0;

	if (!preempt && state && !(state & TASK_GONE) && (which = bpf_map_lookup_elem(&tgids, &tgid))) {
		u64 arg[2] = {};
		if (system_call(prev, arg) == cfg_futex && (u32)arg[1] != FUTEX_WAIT_BITSET) {
			struct wait f = {.flags = FUTEX, .stack = -1, .call = cfg_futex, .tid = tid};
			f.who = *which == GOROUTINES ? RUNTIME : who(prev);
			// Private futexes of two processes can have one address.
			f.lock = arg[0] ^ (u64)tgid << 48;
			f.since = now = bpf_ktime_get_ns();
			if (bpf_map_update_elem(&futexes, &tid, &f, BPF_ANY))
				COUNT(lost_begins);
		}
	}
	tid = next->pid;
	w = bpf_map_lookup_elem(&futexes, &tid);
	if (w && w->lock) {
		account(w, now ? now : bpf_ktime_get_ns());
		w->lock = 0;
	}
	return 0;
}

// ---- the scheduler

enum { UNKNOWN, ON, RUNNABLE, BLOCKED, GONE };

// One thread. Until its first event its state is unknown, and that event tells
// what it was since before the window.
struct thread {
	u64 since;
	u64 on, runnable, blocked;
	u64 being_woken; // of blocked: from the waker's start until it was queued
	u64 idle_exit;   // of being_woken and runnable: where the CPU had been idle
	u64 clock, task_clock; // of its run queue at the last event, 0 where out of reach
	u64 clock_on, clock_runnable; // on and runnable by that clock
	u64 charged;   // its sum_exec_runtime as it got its CPU
	u64 uncharged; // of clock_on: what it was not charged for
	u64 left;   // when it last left a CPU
	u64 moved;  // asleep, and moved to another run queue, since when; else 0
	u64 clock_moved; // of clock_runnable: such sleep
	u64 waking; // when a waker began, 0 when the wake-up is over
	u64 born;   // 0 where it was before the trace
	u64 runnable_max;
	u32 state, cpu, waker, tgid;
	u32 voluntary, involuntary, wakes, migrations;
	s32 stack, call;
	u32 deep; // asleep uninterruptibly
	u32 known_cpu;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32);
	__type(value, struct thread);
	__uint(max_entries, 8192);
} threads SEC(".maps");

struct sleep_key {
	s32 stack, call;
	u32 deep, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__type(key, struct sleep_key);
	__type(value, struct sums);
	__uint(max_entries, 4096);
} sleeps SEC(".maps");

// Wake-up latencies: from the waker's start until the woken thread runs. Four
// buckets to a power of two, as package histogram lays them out.
#define WAKE_SUB 2
#define WAKE_BUCKETS 128 // up to 2^33 ns
struct latencies {
	u64 count, total, min, max;
	u64 hist[WAKE_BUCKETS];
};

enum { BEHIND, FROM_IDLE, WAYS }; // who had the CPU that the woken thread got
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WAYS);
	__type(key, u32);
	__type(value, struct latencies);
} wakeups SEC(".maps");

// From which CPU to which: threads that moved, and wakers and their wakees.
enum { MOVE, WAKE };
struct pair_key {
	u32 what, from, to;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct pair_key);
	__type(value, u64);
	__uint(max_entries, 16384);
} pairs SEC(".maps");

static __always_inline void pair(u32 what, u32 from, u32 to)
{
	struct pair_key k = {what, from, to};
	u64 one = 1, *n = bpf_map_lookup_elem(&pairs, &k);

	if (!n && !bpf_map_update_elem(&pairs, &k, &one, BPF_NOEXIST))
		return;
	if (!n)
		n = bpf_map_lookup_elem(&pairs, &k);
	if (n)
		__sync_fetch_and_add(n, 1);
	else
		COUNT(lost_sums);
}

static __always_inline struct thread *thread(struct task_struct *t)
{
	u32 tid = t->pid, tgid = t->tgid, *which = bpf_map_lookup_elem(&tgids, &tgid);
	struct thread *th;

	if (!which || (*which == LISTED && !bpf_map_lookup_elem(&tids, &tid)))
		return 0;
	th = bpf_map_lookup_elem(&threads, &tid);
	if (th)
		return th;
	struct thread fresh = {.tgid = tgid, .stack = -1, .call = -1};
	bpf_map_update_elem(&threads, &tid, &fresh, BPF_NOEXIST);
	th = bpf_map_lookup_elem(&threads, &tid);
	if (!th)
		COUNT(lost_threads);
	return th;
}

// run_queue_clock is the time that the kernel's own accounts of t go by
// (sum_exec_runtime and sched_info.run_delay, which schedstat shows). It is
// brought up to date when a thread is queued, and not again for a switch that
// this leads to (rq_clock_skip_update in wakeup_preempt, kernel/sched/core.c).
static __always_inline u64 run_queue_clock(struct task_struct *t)
{
	if (bpf_core_field_exists(t->se.cfs_rq) && bpf_core_field_exists(t->se.cfs_rq->rq))
		return t->se.cfs_rq->rq->clock;
	return 0;
}

// task_clock is the same less what interrupts took, where the kernel accounts
// for that apart: time on a CPU goes by it.
static __always_inline u64 task_clock(struct task_struct *t)
{
	if (bpf_core_field_exists(t->se.cfs_rq) && bpf_core_field_exists(t->se.cfs_rq->rq))
		return t->se.cfs_rq->rq->clock_task;
	return 0;
}

// by_clock is what inside(th->since, now) is by a clock that read from then.
// Of what an edge of the window cuts it does not tell the part.
static __always_inline u64 by_clock(struct thread *th, u64 from, u64 to, u64 now)
{
	u64 part = inside(th->since, now);

	if (part != now - th->since || !from || to < from)
		return part;
	return to - from;
}

// left_cpu ends the time on a CPU of a thread that leaves. It is charged up to
// exec_start: one that goes to sleep not for what its CPU then does to find
// another (sched_balance_newidle, kernel/sched/fair.c). What it was not charged
// for of that, the hypervisor took, where the kernel knows of it.
static __always_inline void left_cpu(struct thread *th, struct task_struct *t, u64 now)
{
	u64 by = by_clock(th, th->task_clock, t->se.exec_start, now);
	u64 charged = t->se.sum_exec_runtime - th->charged;

	// Never seen before, and on a CPU now: it was all the time.
	th->on += inside(th->since, now);
	th->clock_on += by;
	if (inside(th->since, now) == now - th->since && th->task_clock && charged < by)
		th->uncharged += by - charged;
}

static __always_inline void slept(struct thread *th, u64 now)
{
	u64 d = inside(th->since, now);
	struct sleep_key k = {.stack = th->stack, .call = th->call, .deep = th->deep};
	struct sums *s;

	th->blocked += d;
	if (th->moved) {
		u64 m = inside(th->moved, now);

		th->clock_runnable += m;
		th->clock_moved += m;
		th->moved = 0;
	}
	if (!open_at(now))
		return;
	s = bpf_map_lookup_elem(&sleeps, &k);
	if (!s) {
		struct sums none = {};
		bpf_map_update_elem(&sleeps, &k, &none, BPF_NOEXIST);
		s = bpf_map_lookup_elem(&sleeps, &k);
		if (!s) {
			COUNT(lost_sums);
			return;
		}
	}
	add(s, d);
}

static __always_inline void waited(struct thread *th, u64 clock, u64 now)
{
	u64 d = inside(th->since, now);

	th->runnable += d;
	th->clock_runnable += by_clock(th, th->clock, clock, now);
	if (d > th->runnable_max)
		th->runnable_max = d;
}

static __always_inline void latency(u32 way, u64 d)
{
	u64 n = bits(d | 1 << WAKE_SUB) - (WAKE_SUB + 1), i;
	struct latencies *l = bpf_map_lookup_elem(&wakeups, &way);

	if (!l)
		return;
	if (!l->count || d < l->min)
		l->min = d;
	if (d > l->max)
		l->max = d;
	l->count++;
	l->total += d;
	i = (n << WAKE_SUB) + (d >> (n & 63));
	MASK(i, WAKE_BUCKETS);
	l->hist[i]++;
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u32 preempt = (_Bool)ctx[0], state = ctx[3], cpu = bpf_get_smp_processor_id();
	u32 way = prev->pid ? BEHIND : FROM_IDLE;
	u64 now = bpf_ktime_get_ns(), clock, arg[2];
	struct thread *th = thread(prev);

	if (th) {
		left_cpu(th, prev, now);
		th->clock = run_queue_clock(prev);
		th->since = th->left = now;
		th->cpu = cpu;
		th->known_cpu = 1;
		if (preempt || !state) {
			th->state = RUNNABLE;
			th->waking = 0;
			if (open_at(now))
				th->involuntary++;
		} else {
			if (open_at(now))
				th->voluntary++;
			// It wanted to sleep, and was woken before it had left:
			// the run queue's lock is dropped while a next thread is
			// looked for. Its wake-up is past; none will follow.
			if (!prev->__state)
				th->state = RUNNABLE;
			else
				th->state = state & TASK_GONE ? GONE : BLOCKED;
			th->deep = !!(state & TASK_UNINTERRUPTIBLE);
			if (cfg_sched_stacks)
				th->stack = stack_of(ctx);
			th->call = system_call(prev, arg);
		}
	}
	th = thread(next);
	if (!th)
		return 0;
	clock = run_queue_clock(next);
	if (th->state == BLOCKED)
		slept(th, now); // its wake-up was missed
	else
		waited(th, clock, now);
	if (way == FROM_IDLE)
		th->idle_exit += inside(th->waking > th->left ? th->waking : th->since, now);
	if (th->waking) {
		if (open_at(now)) {
			if (th->waking >= opened)
				latency(way, now - th->waking);
			pair(WAKE, th->waker, cpu);
			th->wakes++;
		}
		th->waking = 0;
	}
	if (th->known_cpu && th->cpu != cpu && open_at(now)) {
		th->migrations++;
		pair(MOVE, th->cpu, cpu);
	}
	th->cpu = cpu;
	th->known_cpu = 1;
	th->state = ON;
	th->since = now;
	th->clock = clock;
	th->task_clock = task_clock(next);
	th->charged = next->se.sum_exec_runtime;
	return 0;
}

SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	struct thread *th = thread((void *)ctx[0]);

	if (th) {
		th->waker = bpf_get_smp_processor_id();
		th->waking = bpf_ktime_get_ns();
	}
	return 0;
}

SEC("tp_btf/sched_wakeup")
int sched_wakeup(u64 *ctx)
{
	struct thread *th = thread((void *)ctx[0]);
	u64 now;

	if (!th)
		return 0;
	// Woken before it had left the CPU: it never slept.
	if (th->state != BLOCKED && th->state != UNKNOWN)
		return 0;
	now = bpf_ktime_get_ns();
	if (th->state == UNKNOWN)
		th->blocked += inside(th->since, now);
	else
		slept(th, now);
	if (th->waking > th->left)
		th->being_woken += inside(th->waking, now);
	th->state = RUNNABLE;
	th->since = now;
	th->clock = run_queue_clock((void *)ctx[0]);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int sched_wakeup_new(u64 *ctx)
{
	struct thread *th = thread((void *)ctx[0]);

	if (th) {
		th->state = RUNNABLE;
		th->since = th->born = bpf_ktime_get_ns();
		th->clock = run_queue_clock((void *)ctx[0]);
	}
	return 0;
}

// Since Linux 6.12 a thread that goes to sleep may stay on its run queue for a
// while (sched_delayed). If it is moved to another one meanwhile, its run_delay
// runs from then on, asleep as it is (sched_info_enqueue in enqueue_task).
SEC("tp_btf/sched_migrate_task")
int sched_migrate(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	struct thread *th;

	if (t->on_rq != TASK_ON_RQ_MIGRATING)
		return 0;
	th = thread(t);
	if (th && th->state == BLOCKED && !th->moved)
		th->moved = bpf_ktime_get_ns();
	return 0;
}
