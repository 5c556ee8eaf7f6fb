package runner

type hostCounters struct{}

func readHost() hostCounters { return hostCounters{} }

func (r *run) host() {}
