package profile

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Suffix is how the name of a profile's file ends.
const Suffix = ".profile"

//go:embed profiles/*.profile
var builtin embed.FS

// Names lists the profiles that are built in, sorted.
func Names() []string {
	files, err := fs.Glob(builtin, "profiles/*"+Suffix)
	if err != nil {
		panic(err) // the pattern is well formed
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(f, "profiles/"), Suffix))
	}
	return names
}

// Load reads the profile of that name, or the file of that path where the name
// holds a slash or ends in .profile.
func Load(nameOrPath string) (*Profile, error) {
	var text []byte
	var err error
	if strings.Contains(nameOrPath, "/") || strings.HasSuffix(nameOrPath, Suffix) {
		if text, err = os.ReadFile(nameOrPath); err != nil {
			var path *fs.PathError
			if errors.As(err, &path) {
				err = path.Err
			}
			return nil, fmt.Errorf("profile %q cannot be read: %w", nameOrPath, err)
		}
	} else if text, err = fs.ReadFile(builtin, "profiles/"+nameOrPath+Suffix); err != nil {
		return nil, fmt.Errorf("profile %q is not known; there are %s, or give the path of a file", nameOrPath, strings.Join(Names(), ", "))
	}
	p, err := Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("profile %q: %w", nameOrPath, err)
	}
	return p, nil
}
