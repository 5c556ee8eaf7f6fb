package pid1

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// diskBlock divides what is written to a raw disk, whose driver takes whole
// sectors only.
const diskBlock = 4096

// writeDevice writes the frame of data to a device of its own: a serial line
// or a disk, which is overwritten from its start.
func writeDevice(path string, data []byte) error {
	// Without O_NONBLOCK a serial line may wait for its carrier for ever.
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	term, err := unix.IoctlGetTermios(fd, getTermios)
	isLine := err == nil
	if isLine {
		term.Oflag &^= unix.OPOST
		term.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG
		term.Cflag = term.Cflag&^unix.CRTSCTS | unix.CLOCAL | unix.CREAD
		setSpeed(term)
		if err := unix.IoctlSetTermios(fd, setTermios, term); err != nil {
			unix.Close(fd)
			return fmt.Errorf("%s: set the line to 115200 baud: %w", path, err)
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return fmt.Errorf("%s: %w", path, err)
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	var text bytes.Buffer
	WriteFrame(&text, data)
	if !isLine {
		for text.Len()%diskBlock != 0 {
			text.WriteByte('\n')
		}
	}
	for block := range slices.Chunk(text.Bytes(), 16*diskBlock) {
		if _, err := file.Write(block); err != nil {
			return fmt.Errorf("after the results were begun: %w", err)
		}
	}
	if isLine {
		return drain(fd)
	}
	return file.Sync()
}
