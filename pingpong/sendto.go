package pingpong

import (
	"fmt"

	"udsbench/record"
)

// N senders that are connected to nobody and name the receiver in each message.
// On Linux the name is looked up every time: by path through the VFS and under
// bsd_socket_locks, by abstract name under a bucket of the name table
// (unix_find_other); one receiver is one hot name. On FreeBSD each message
// connects and disconnects (unp_connect, unp_disconnect). What it costs more
// than fanin-dgram is the price of the name.
func init() {
	Register(Workload{
		Name:     "sendto",
		Isolates: "name lookup for each message: Linux bsd_socket_locks and dentry (path) or a name-table bucket (abstract); FreeBSD connect and disconnect",
		Twin:     "fanin-dgram",
		Expect:   "the gap to fanin-dgram closes with finer name-table locks; N > 1 rises",
		Stop:     "senders leave after a whole message; the receiver drains until all have left, then its own idle thread shuts its socket down",
		Targets:  []string{"subsystem", "name"},
		Nulls:    nil,
		Params:   append([]Param{fullParam(), bufferParam}, readerParams...),

		Wiring:     Bound,
		Operation:  Message,
		Transports: []string{"unix-dgram"},
		NoTransport: map[string]string{
			"unix-stream":    "a stream sends to nobody that it is not connected to; storm connects for each operation",
			"unix-seqpacket": "a seqpacket socket sends to nobody that it is not connected to; storm connects for each operation",
			"tcp":            "TCP sends to nobody that it is not connected to; storm connects for each operation",
			"pipe":           "a pipe has no names",
		},
		Addresses:        []string{"path", "abstract"},
		OneServerProcess: true,
		Unconnected:      true,
		Spins:            true,
		NoModel: map[string]string{
			"goroutine": "the poller cannot tell an unconnected sender when the receiver has room; use thread",
		},
		Setup:  setupDatagram,
		Client: sendDatagram,
		Server: receiveDatagram,
		Check: func(c record.Cell) error {
			if c.Params["full"] == "poll" {
				return fmt.Errorf("full poll: a sender that is connected to nobody has nobody's room to poll for; use retry or yield")
			}
			return checkFull(c)
		},
	})
}
