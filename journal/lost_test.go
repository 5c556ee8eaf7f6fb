package journal

import (
	"os"
	"path/filepath"
	"testing"
)

// A boot that a campaign lost stands among the runs and is none of them; its
// run is still to do. Sessions from before had the number of lost messages
// under that name.
func TestLostBoots(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	write(t, dir, 0, 1)
	f, err := os.OpenFile(filepath.Join(dir, RunsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`{"schema":1,"lost":{"boot":"b2","kernel":"6.12","seq":2,"cell":{"workload":"pingpong","parallel":2}}}`,
		`{"schema":1,"lost":{"boot":"b3","kernel":"6.12"}}`,
		`{"schema":1,"seq":3,"kind":"timed","status":"ok","cell":{"workload":"pingpong"},"lost":7}`,
	} {
		if _, err := f.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Runs) != 3 || len(s.Lost) != 2 || len(s.Warnings) != 0 {
		t.Fatalf("%d runs, %d lost boots, %v", len(s.Runs), len(s.Lost), s.Warnings)
	}
	if l := s.Lost[0]; l.Boot != "b2" || l.Kernel != "6.12" || l.Seq == nil || *l.Seq != 2 || l.Cell == nil || l.Cell.Parallel != 2 {
		t.Errorf("%+v", l)
	}
	if l := s.Lost[1]; l.Seq != nil || l.Cell != nil {
		t.Errorf("%+v: what was not said is not known", l)
	}
	if n := s.Runs[2].LostMessages; n == nil || *n != 7 {
		t.Errorf("lost messages of a session from before: %v", n)
	}
	j, err := Open(dir, nil, always)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if j.Done(2) || !j.Done(3) {
		t.Error("the run that the lost boot was in is done, or one that is kept is not")
	}
}
