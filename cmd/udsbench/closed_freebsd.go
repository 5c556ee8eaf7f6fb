package main

import (
	"os"
	"os/exec"
	"strconv"
)

// parentName is the name of the program that started this one; "" where it is
// not known.
func parentName() string {
	text, err := exec.Command("ps", "-o", "comm=", "-p", strconv.Itoa(os.Getppid())).Output()
	if err != nil {
		return ""
	}
	return baseName(text)
}
