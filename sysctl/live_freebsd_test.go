package sysctl

import (
	"errors"
	"slices"
	"testing"
)

func TestLive(t *testing.T) {
	if n, err := Int(Live(), "hw.ncpu"); err != nil || n < 1 {
		t.Errorf("hw.ncpu: %d (%v)", n, err)
	}
	if s, err := Live().Get("kern.ostype"); err != nil || s != "FreeBSD" {
		t.Errorf("kern.ostype: %q (%v)", s, err)
	}
	if _, err := Live().Get("kern.no_such_thing"); !errors.Is(err, ErrNotExist) {
		t.Errorf("a name that is not there: %v", err)
	}
	if names, err := Live().Names("kern.smp"); err != nil || !slices.Contains(names, "kern.smp.maxid") {
		t.Errorf("below kern.smp: %v (%v)", names, err)
	}
}
