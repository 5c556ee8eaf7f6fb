// Package profile says what a real server and its clients do on their sockets,
// without the server: the shape of a conversation.
//
//	flags ─▶ plan ─▶ placement ─▶ workers ─▶ run record ─▶ journal ─▶ …
//	                              └ profile ┘
//
// A profile is a text file (profiles/*.profile are built in; others are given by
// path). It lists exchanges: what the client writes, how the server reads it,
// what the server does before it answers, what it writes. Package pingpong plays
// it as the workload profile:NAME.
//
//	# What it stands for: the first comment is its description.
//	io dontwait+poll
//	header 4
//	clock 4:vdso
//
//	exchange select
//	  request 60
//	  response 300
//	  work 5000
//
// Sizes are bytes and times nanoseconds. Several values behind request or
// response are several writes. A value may be a distribution: values that are
// equally likely, rising and joined by slashes (20/36/36/40), of which one is
// drawn for each exchange. docs/profiles.md has every line that a profile may
// hold.
//
// FromStrace makes a profile of the system calls of a real server.
package profile
