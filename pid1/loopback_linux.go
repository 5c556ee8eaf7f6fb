package pid1

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// loopback brings lo up (netdevice(7)); the kernel itself then gives it
// 127.0.0.1 and, where it has IPv6, ::1.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifreq, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, ifreq); err != nil {
		return fmt.Errorf("SIOCGIFFLAGS: %w", err)
	}
	ifreq.SetUint16(ifreq.Uint16() | unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifreq); err != nil {
		return fmt.Errorf("SIOCSIFFLAGS: %w", err)
	}
	return checkLoopback()
}
