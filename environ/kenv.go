package environ

import (
	"bytes"
	"strings"
)

// parseKenv reads what kenv(2) dumps: NAME=VALUE strings, each ended by a NUL.
// Firmware tables (smbios, with serial numbers), device hints and passphrases
// are none of a measurement's business and are left out.
func parseKenv(raw []byte) map[string]string {
	env := map[string]string{}
	for _, entry := range bytes.Split(raw, []byte{0}) {
		name, value, ok := strings.Cut(string(entry), "=")
		if !ok || name == "" {
			continue
		}
		lower := strings.ToLower(name)
		if strings.HasPrefix(lower, "smbios.") || strings.HasPrefix(lower, "hint.") ||
			strings.Contains(lower, "pass") || strings.Contains(lower, "secret") || strings.Contains(lower, "key") {
			continue
		}
		env[name] = value
	}
	return env
}
