package histogram

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"udsbench/record"
)

// value draws from all magnitudes alike: uniform integers would hardly ever be
// small.
func value(t *rapid.T, name string) uint64 {
	top := rapid.IntRange(0, 63).Draw(t, name+" bits")
	return rapid.Uint64Range(0, 1<<top).Draw(t, name)
}

func TestIndexIsRightEverywhere(t *testing.T) {
	// Every bucket, both ends: no gap, no overlap, in order.
	next := uint64(0)
	for i := uint32(0); i < Buckets; i++ {
		low, high, mid := Low(i), High(i), Mid(i)
		if low != next || high < low || mid < low || mid > high {
			t.Fatalf("bucket %d: low %d, mid %d, high %d; the one before ends below %d", i, low, mid, high, next)
		}
		if Index(low) != i || Index(high) != i || Index(mid) != i {
			t.Fatalf("bucket %d holds [%d, %d], but their indices are %d and %d", i, low, high, Index(low), Index(high))
		}
		if i < 1<<SubBits && low != high {
			t.Fatalf("bucket %d is [%d, %d], must be exact", i, low, high)
		}
		next = high + 1
	}
	if next != Cap {
		t.Fatalf("the buckets end below %d, want %d", next, uint64(Cap))
	}
	for _, v := range []uint64{Cap - 1, Cap, Cap + 1, math.MaxInt64, math.MaxUint64} {
		if Index(v) != Buckets-1 {
			t.Errorf("Index(%d) = %d, want the last bucket", v, Index(v))
		}
	}
}

func TestRelativeErrorIsAtMostOnePercent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := min(value(t, "v"), Cap-1)
		mid := Mid(Index(v))
		diff := math.Abs(float64(mid) - float64(v))
		if diff > 0.01*float64(v) {
			t.Fatalf("%d is kept as %d: off by %.2f %%", v, mid, 100*diff/float64(v))
		}
	})
}

func TestIndexIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := value(t, "a"), value(t, "b")
		if a > b {
			a, b = b, a
		}
		if Index(a) > Index(b) {
			t.Fatalf("Index(%d) = %d above Index(%d) = %d", a, Index(a), b, Index(b))
		}
	})
}

func values(t *rapid.T, name string, least int) []int64 {
	var vs []int64
	for _, v := range rapid.SliceOfN(rapid.Uint64Range(0, 42), least, 200).Draw(t, name+" bits") {
		vs = append(vs, rapid.Int64Range(0, 1<<v-1).Draw(t, name))
	}
	return vs
}

func of(vs []int64) *Histogram {
	h := &Histogram{}
	for _, v := range vs {
		h.Add(v)
	}
	return h
}

func TestQuantileIsNearestRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs := values(t, "values", 1)
		h := of(vs)
		slices.Sort(vs)
		// The rank in integers, so that the test has no rounding of its own.
		k := rapid.IntRange(0, 1000).Draw(t, "per mille")
		rank := max((k*len(vs)+999)/1000, 1)
		want := vs[rank-1]
		got, ok := h.Quantile(float64(k) / 1000)
		if !ok || math.Abs(float64(got-want)) > 0.01*float64(want) {
			t.Fatalf("quantile %d‰ of %d values is %d (%v), want %d within 1 %%", k, len(vs), got, ok, want)
		}
		if got < vs[0] || got > vs[len(vs)-1] {
			t.Fatalf("quantile %d is outside [%d, %d]", got, vs[0], vs[len(vs)-1])
		}
	})
}

func TestMergeIsAddition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := values(t, "a", 0), values(t, "b", 0)
		want := of(append(slices.Clone(a), b...))
		got := of(a)
		got.Merge(of(b))
		if got.buckets != want.buckets || got.count != want.count || got.min != want.min || got.max != want.max {
			t.Fatalf("merging %v and %v differs from adding them", a, b)
		}
		if math.Abs(got.sum-want.sum) > 1e-9*want.sum {
			t.Fatalf("merged sum %g, want %g", got.sum, want.sum)
		}
		got.Merge(nil)

		// The same from a worker's raw counts.
		var raw [Buckets]uint32
		var sum uint64
		for _, v := range b {
			raw[Index(uint64(v))]++
			sum += uint64(v)
		}
		counted := of(a)
		if len(b) > 0 {
			AddCounts(counted, raw[:], sum, slices.Min(b), slices.Max(b))
		} else {
			AddCounts(counted, raw[:], 0, math.MaxInt64, 0)
		}
		if counted.buckets != want.buckets || counted.count != want.count || counted.min != want.min || counted.max != want.max {
			t.Fatalf("counts of %v merged into %v differ from adding them", b, a)
		}
	})
}

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := of(values(t, "values", 1))
		text, err := json.Marshal(h.Record())
		if err != nil {
			t.Fatal(err)
		}
		var r record.Histogram
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		back, err := FromRecord(&r, h.Latency())
		if err != nil {
			t.Fatal(err)
		}
		if back.buckets != h.buckets || back.count != h.count || back.min != h.min || back.max != h.max {
			t.Fatalf("%s came back different", text)
		}
		if got, want := *back.Latency(), *h.Latency(); math.Abs(got.Mean-want.Mean) > 1e-9*want.Mean {
			t.Fatalf("mean %g came back as %g", want.Mean, got.Mean)
		}
	})
}

func TestEmptyIsNotZero(t *testing.T) {
	h := &Histogram{}
	if _, ok := h.Quantile(0.5); ok || h.Latency() != nil || h.Record() != nil || !math.IsNaN(h.Mean()) {
		t.Error("an empty histogram gives figures")
	}
}

func TestIndexDoesNotAllocate(t *testing.T) {
	var sum uint32
	if n := testing.AllocsPerRun(100, func() { sum += Index(uint64(sum) * 1234567) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// indexFromNosplit is a caller as the workers' loops are: it links only while
// Index keeps within the nosplit limit.
//
//go:nosplit
//go:norace
func indexFromNosplit(v uint64, counts *[Buckets]uint32) {
	counts[Index(v)%Buckets]++
}

func TestIndexFromNosplit(t *testing.T) {
	var counts [Buckets]uint32
	indexFromNosplit(12345, &counts)
	if counts[Index(12345)] != 1 {
		t.Error("not counted")
	}
}

func FuzzFromRecord(f *testing.F) {
	for _, s := range []string{
		`{"unit":"ns","sub_bits":7,"buckets":[[1,2],[300,4],[4607,1]]}`,
		`{"unit":"ns","sub_bits":7,"buckets":[[4608,1]]}`,
		`{"unit":"us","sub_bits":7,"buckets":[]}`,
		`{"unit":"ns","sub_bits":7,"buckets":[[1,18446744073709551615],[1,1]]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r record.Histogram
		if json.Unmarshal(text, &r) != nil {
			return
		}
		h, err := FromRecord(&r, nil)
		if err != nil || h.Count() == 0 {
			return
		}
		least, _ := h.Quantile(0)
		greatest, _ := h.Quantile(1)
		if least < h.Min() || greatest > h.Max() || least > greatest {
			t.Fatalf("quantiles [%d, %d] outside [%d, %d]", least, greatest, h.Min(), h.Max())
		}
		if _, err := FromRecord(h.Record(), h.Latency()); err != nil {
			t.Fatalf("its own record is refused: %v", err)
		}
	})
}

func FuzzIndex(f *testing.F) {
	for _, v := range []uint64{0, 127, 128, 255, 256, 18_300, Cap - 1, Cap, math.MaxUint64} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v uint64) {
		i := Index(v)
		if i >= Buckets {
			t.Fatalf("Index(%d) = %d, beyond the last bucket", v, i)
		}
		if v < Cap && (v < Low(i) || v > High(i)) {
			t.Fatalf("%d is outside its bucket %d, [%d, %d]", v, i, Low(i), High(i))
		}
	})
}

func BenchmarkIndex(b *testing.B) {
	var counts [Buckets]uint32
	v := uint64(12345)
	for b.Loop() {
		counts[Index(v)]++
		v = v*6364136223846793005 + 1442695040888963407
		v >>= 30
	}
}
