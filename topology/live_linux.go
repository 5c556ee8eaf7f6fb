package topology

// Live reads the machine that this program runs on from /sys and /proc. What
// is allowed is the mask of the process's first thread, so that a worker that
// pinned itself does not narrow the machine for others.
func Live() (*Machine, error) {
	m, err := Read("/")
	if err != nil {
		return nil, err
	}
	m.Source = "this machine"
	return m, nil
}
