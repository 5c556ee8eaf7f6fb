package pid1

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestWriteDeviceDisk writes over what a disk held, in whole blocks.
func TestWriteDeviceDisk(t *testing.T) {
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(disk, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{200_000, 100_000, 0} { // each over the longer one before
		data := sampleBytes(n)
		if err := writeDevice(disk, data); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(disk)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadFrame(file)
		file.Close()
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes came back of %d: %v", len(got), n, err)
		}
		if info, _ := os.Stat(disk); info.Size() != 1<<20 {
			t.Errorf("the disk has %d bytes now", info.Size())
		}
	}
	if err := writeDevice(filepath.Join(t.TempDir(), "absent"), nil); err == nil {
		t.Error("wrote to a device that is not there")
	}
}
