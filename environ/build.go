package environ

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

// Udsbench is this program itself.
type Udsbench struct {
	Version  string            `json:"version"`
	Go       string            `json:"go"`
	OS       string            `json:"os"`
	Arch     string            `json:"arch"`
	Settings map[string]string `json:"settings,omitempty"` // what the go command was told: CGO_ENABLED, GOAMD64, -race, …
	Modules  map[string]string `json:"modules,omitempty"`  // what was linked in, by module path
	SHA256   string            `json:"binary_sha256,omitempty"`
}

// build fills e.Udsbench. It needs no stamping by version control: the hash
// of the binary tells two builds apart.
func build(e *Environment) {
	u := Udsbench{Version: Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		u.Settings = map[string]string{}
		for _, s := range info.Settings {
			u.Settings[s.Key] = s.Value
		}
		u.Modules = map[string]string{}
		for _, d := range info.Deps {
			for d.Replace != nil {
				d = d.Replace
			}
			u.Modules[d.Path] = d.Version
		}
	} else {
		e.absent("udsbench.settings", "the binary carries no build information")
	}
	sum, err := hashSelf()
	if err != nil {
		e.absent("udsbench.binary_sha256", err.Error())
	}
	u.SHA256 = sum
	e.Udsbench = u
}

func hashSelf() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
