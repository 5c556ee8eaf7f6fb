package counters

// Thread is one worker's thread.
type Thread struct {
	TID  int
	Role string
	Ops  func() uint64 // operations that it has done so far
}

// Event is something that is counted.
type Event struct {
	Name     string
	Hardware bool
}
