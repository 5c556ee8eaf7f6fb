package pid1

import (
	"errors"
	"net"
)

// checkLoopback binds both loopback addresses, since an interface that is up
// may still lack one.
func checkLoopback() error {
	var missing error
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			missing = errors.Join(missing, err)
			continue
		}
		l.Close()
	}
	return missing
}
