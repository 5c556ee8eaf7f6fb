package locktable

import (
	"fmt"
	"strconv"

	"udsbench/record"
)

// absent stands where a side did not observe something, or a source does not tell it.
const absent = "-"

func integer(n *int64) string {
	if n == nil {
		return absent
	}
	return strconv.FormatInt(*n, 10)
}

func addresses(r *record.Lock) string {
	if r.Addresses == nil {
		return absent
	}
	if r.AtLeast {
		return fmt.Sprintf("≥%d", *r.Addresses)
	}
	return strconv.Itoa(*r.Addresses)
}

func perOp(n *int64, ops *float64) string {
	if n == nil || ops == nil || *ops == 0 {
		return absent
	}
	v := float64(*n) / *ops
	if v >= 0.01 || v == 0 {
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.1e", v)
}

func nanoseconds(n *int64) string {
	if n == nil {
		return absent
	}
	return duration(float64(*n))
}

func mean(r *record.Lock) string {
	if r.TotalNS == nil || r.Count == nil || *r.Count == 0 {
		return absent
	}
	return duration(float64(*r.TotalNS) / float64(*r.Count))
}

func samples(r *record.Lock) string {
	if r.Samples == nil {
		return absent
	}
	if r.SampleShare != nil && r.SampleShare.Of > 0 {
		return fmt.Sprintf("%d (%.1f %%)", *r.Samples, 100*float64(r.SampleShare.N)/float64(r.SampleShare.Of))
	}
	return integer(r.Samples)
}

// share gives the part of all CPU-seconds.
func share(ns *int64, s *Side) string {
	if ns == nil || s.CPUSeconds == nil || *s.CPUSeconds == 0 {
		return absent
	}
	return fmt.Sprintf("%.1f %%", float64(*ns)/1e7 / *s.CPUSeconds)
}

// duration writes nanoseconds with four figures.
func duration(ns float64) string {
	for _, u := range []struct {
		unit string
		ns   float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if ns >= u.ns {
			return number(ns/u.ns) + " " + u.unit
		}
	}
	return fmt.Sprintf("%.0f ns", ns)
}

func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.1f", v)
	case v >= 10:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
