package main

import (
	"fmt"
	"os"
)

// parentName is the name of the program that started this one; "" where it is
// not known.
func parentName() string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid()))
	if err != nil {
		return ""
	}
	return baseName(text)
}
