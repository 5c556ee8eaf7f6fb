package offcpu

import "testing"

// There is none, and everything says so.
func TestNoTraceHere(t *testing.T) {
	if err := Probe(Options{}); err == nil {
		t.Error("available")
	}
	tr, err := Start(Options{})
	if err == nil || tr != nil {
		t.Errorf("%v, %v", tr, err)
	}
	tr = &Trace{}
	if tr.Open() == nil || tr.Close() == nil || len(tr.Blind()) == 0 || tr.Instrument().Source != "" {
		t.Error("a trace that is not one")
	}
	if s, err := tr.Stop(); err == nil || s != nil {
		t.Errorf("%v, %v", s, err)
	}
}
