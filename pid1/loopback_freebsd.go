package pid1

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of sys/sockio.h and netinet6/in6_var.h. The SIOCAIFADDR of package unix is
// that of FreeBSD 9 (OSIOCAIFADDR today).
const (
	siocAIFADDR    = 0x8044692b // _IOW('i', 43, struct in_aliasreq)
	siocAIFADDRIn6 = 0x8088691b // _IOW('i', 27, struct in6_aliasreq)
)

// ifreqFlags is struct ifreq (net/if.h) as SIOCGIFFLAGS and SIOCSIFFLAGS use it.
type ifreqFlags struct {
	name      [unix.IFNAMSIZ]byte
	flags     uint16
	flagsHigh uint16
	_         [12]byte
}

// inAliasreq is struct in_aliasreq of netinet/in_var.h.
type inAliasreq struct {
	name [unix.IFNAMSIZ]byte
	addr unix.RawSockaddrInet4
	dst  unix.RawSockaddrInet4
	mask unix.RawSockaddrInet4
	vhid int32
}

// in6Aliasreq is struct in6_aliasreq of netinet6/in6_var.h.
type in6Aliasreq struct {
	name       [unix.IFNAMSIZ]byte
	addr       unix.RawSockaddrInet6
	dst        unix.RawSockaddrInet6
	prefixmask unix.RawSockaddrInet6
	flags      int32
	expire     int64
	preferred  int64
	vltime     uint32
	pltime     uint32
	vhid       int32
	_          [4]byte
}

// The length of each struct is part of its request's number (IOCPARM_LEN of
// sys/ioccom.h): these lines compile only where both agree.
const (
	_ = uint(unsafe.Sizeof(ifreqFlags{})-32) + uint(32-unsafe.Sizeof(ifreqFlags{}))
	_ = uint(unsafe.Sizeof(inAliasreq{})-(siocAIFADDR>>16&0x1fff)) + uint((siocAIFADDR>>16&0x1fff)-unsafe.Sizeof(inAliasreq{}))
	_ = uint(unsafe.Sizeof(in6Aliasreq{})-(siocAIFADDRIn6>>16&0x1fff)) + uint((siocAIFADDRIn6>>16&0x1fff)-unsafe.Sizeof(in6Aliasreq{}))
)

// loopback brings lo0 up and gives it 127.0.0.1 and ::1. The kernel adds ::1
// by itself when the interface comes up (in6_ifattach), if it has IPv6.
func loopback() error {
	up := ifreqFlags{}
	copy(up.name[:], "lo0")
	v4 := inAliasreq{addr: inet4(127, 0, 0, 1), mask: inet4(255, 0, 0, 0)}
	copy(v4.name[:], "lo0")
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := ioctl(fd, unix.SIOCGIFFLAGS, unsafe.Pointer(&up)); err != nil {
		return fmt.Errorf("SIOCGIFFLAGS lo0: %w", err)
	}
	up.flags |= unix.IFF_UP
	if err := ioctl(fd, unix.SIOCSIFFLAGS, unsafe.Pointer(&up)); err != nil {
		return fmt.Errorf("SIOCSIFFLAGS lo0: %w", err)
	}
	if err := ioctl(fd, siocAIFADDR, unsafe.Pointer(&v4)); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("SIOCAIFADDR lo0 127.0.0.1: %w", err)
	}
	if checkLoopback() == nil {
		return nil
	}
	return errors.Join(loopback6(), checkLoopback())
}

// loopback6 gives lo0 the address ::1/128 for ever.
func loopback6() error {
	v6 := in6Aliasreq{vltime: ^uint32(0), pltime: ^uint32(0)} // ND6_INFINITE_LIFETIME
	copy(v6.name[:], "lo0")
	v6.addr = unix.RawSockaddrInet6{Len: unix.SizeofSockaddrInet6, Family: unix.AF_INET6}
	v6.prefixmask = v6.addr
	v6.addr.Addr[15] = 1
	for i := range v6.prefixmask.Addr {
		v6.prefixmask.Addr[i] = 0xff
	}
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("::1: %w", err)
	}
	defer unix.Close(fd)
	if err := ioctl(fd, siocAIFADDRIn6, unsafe.Pointer(&v6)); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("SIOCAIFADDR_IN6 lo0 ::1: %w", err)
	}
	return nil
}

func inet4(a, b, c, d byte) unix.RawSockaddrInet4 {
	return unix.RawSockaddrInet4{Len: unix.SizeofSockaddrInet4, Family: unix.AF_INET, Addr: [4]byte{a, b, c, d}}
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	if errno != 0 {
		return errno
	}
	return nil
}
