package kallsyms

import "os"

// Load reads the running kernel's table.
func Load() (*Table, error) {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f)
}

// Readable is nil where the running kernel shows its functions' addresses to
// us, or why it does not. It reads as far as the first function.
func Readable() error {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return err
	}
	defer f.Close()
	return readable(f)
}
